"""Let controllers be the work of a pod."""

import asyncio
from collections.abc import Awaitable, Sequence

from fleetqueue.client import Client
from fleetqueue.controllers.processes.process import end
from fleetqueue.embedded.nodes.programs import ProgramContext
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.manager import Manager


async def run_controllers(
    context: ProgramContext, hub: Cluster, controllers: Sequence[Controller], *, beside: Sequence[Cluster] = ()
) -> None:
    """Run controllers until the pod ends; it is ready when all caches are filled.

    Args:
        beside: further clusters that the controllers read from.
    """
    manager = Manager(hub, controllers)
    context.why_not_ready = lambda: "" if manager.ready.is_set() else "caches are not filled yet"
    async with asyncio.TaskGroup() as tasks:
        for cluster in beside:
            tasks.create_task(cluster.run(), name=cluster.name)
            await cluster.synced()
        await manager.run()


def as_manager(client: Client, name: str) -> Client:
    """Return a client whose writes are noted under this name."""
    return Client(client.door, manager=name)


async def work_until(happens: Awaitable[None], work: Awaitable[None]) -> None:
    """Work until something happens, and then no more; what goes wrong in either is raised."""
    tasks = asyncio.ensure_future(work), asyncio.ensure_future(happens)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            await end(task)
    for task in tasks:
        if not task.cancelled():
            task.result()

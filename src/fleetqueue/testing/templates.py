"""A cluster that was started once, and of which others are copies: each costs a millisecond.

What takes time is done once for all copies: checking the custom kinds and compiling their schemas.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import Any, Final, TypeVar

from fleetqueue import clock
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.apiserver.registry.kinds import definition_schemas
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.fleets.embedded_cluster import ADMIN, CONVERTERS, new_server
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.testing.frozen import WatchedStorage
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, settle

SYSTEMS: Final = (
    "kueue",
    "jobset",
    "ocm-hub",
    "ocm-agent",
    "managed-serviceaccount",
    "cluster-permission",
    "cluster-inventory",
    "about",
)
"""Whose kinds every cluster of a test serves."""
T = TypeVar("T")


class Template:
    def __init__(self, entries: Sequence[StorageEntry], custom: Sequence[Served]) -> None:
        self._entries = entries
        self._custom = custom

    async def copy(self, secrets: Secrets) -> ApiServer:
        """Return a server as if it had been started just now: with the same objects, as others."""
        storage = await WatchedStorage.holding(MemoryLog(), map(_anew, self._entries))
        server = ApiServer(storage, secrets, CONVERTERS)
        for served in self._custom:
            server.resources.add(served)
        return server


@cache
def template(systems: tuple[str, ...] = SYSTEMS) -> Template:
    """Start a cluster with the custom kinds of some systems, and keep what it is then."""
    with clock.use(VirtualClock()):
        return elsewhere(_start(systems))


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run what never really waits to its end, inside or outside of a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return elsewhere(work)
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("this had to wait for something, and nothing can happen meanwhile")


async def _start(systems: Iterable[str]) -> Template:
    definitions = [definition for system in systems for definition in crds(system)]
    server = await new_server(Secrets(), await WatchedStorage.open(MemoryLog()))
    resource = CustomResourceDefinition.resource
    served = server.resources.find(resource.group, resource.version, resource.plural)
    for definition in definitions:
        definition_schemas.trust(definition)
        await server.store.create(served, "", definition, Write(ADMIN, "admin"))
    establishing = asyncio.create_task(server.run())
    await settle()
    establishing.cancel()
    entries = sorted(server.storage.list("/").entries, key=lambda entry: entry.revision)
    return Template(entries, [served for served in server.resources if served.is_custom])


def _anew(entry: StorageEntry) -> StorageEntry:
    """Return an object of a template as one that was made just now."""
    metadata = {**entry.object["metadata"], "uid": clock.uid(), "creationTimestamp": timestamp(clock.now())}
    return StorageEntry(entry.key, {**entry.object, "metadata": metadata}, entry.revision)


def elsewhere(work: Coroutine[Any, Any, T]) -> T:
    """Run on a loop of its own in a thread of its own, since one may be running in this thread."""
    context = copy_context()

    def run() -> T:
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(work, context=context)

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(run).result()

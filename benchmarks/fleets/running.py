"""A fleet with everything in it, started from the shell as a user does, and what is asked of it.

Embedded and real fleets are started, used and ended by the same commands; their jobs are the same.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

from measuring.processes import cpu_seconds
from servers.peers import memory

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.fleets.real_environment import CLUSTER_SET
from fleetqueue.lab import control
from fleetqueue.lab.cluster_names import HUB, cluster_names
from fleetqueue.runtime.informer import Informer
from fleets import arranging

WRITERS = 16
"""Who create jobs at once, as `kubectl create` in as many windows would."""
Seen = Callable[[Job | None, Job | None], None]
READY_SECONDS, RUNNING_SECONDS = 120.0, 900.0


class RunningFleet:
    def __init__(self, folder: Path, engine: str, workers: int) -> None:
        self.folder = folder
        self.engine = engine
        self.names = cluster_names(workers)
        self.clients: dict[str, Client] = {}
        self.began = 0.0

    @property
    def hub(self) -> Client:
        return self.clients[HUB]

    @property
    def workers(self) -> dict[str, Client]:
        return {name: client for name, client in self.clients.items() if name != HUB}

    @classmethod
    @asynccontextmanager
    async def up(cls, folder: Path, engine: str, workers: int) -> AsyncIterator["RunningFleet"]:
        fleet = cls(folder, engine, workers)
        fleet.began = perf_counter()
        options = ("--in-memory",) if engine == "embedded" else ()
        number = ("--workers", str(workers), "--scenario", "multikueue")
        await fleetqueue("up", "--detach", "--engine", engine, *number, *options, "--data-dir", str(folder))
        try:
            fleet.clients = {name: connect(load(folder / "kubeconfig", name)) for name in fleet.names}
            yield fleet
        finally:
            for client in fleet.clients.values():
                await client.close()
            await fleetqueue("down", "--data-dir", str(folder))

    async def prepare(self) -> None:
        """Make queues on all clusters, and wait until the hub's can admit jobs."""
        for name, worker in self.workers.items():
            await arranging.make_room(worker, name)
            await arranging.create_queues(worker, arranging.CPUS)
        await arranging.create_placement(self.hub, CLUSTER_SET)
        await arranging.create_checks(self.hub)
        await arranging.create_queues(self.hub, arranging.CPUS * len(self.workers), arranging.CHECKS)
        async with asyncio.timeout(READY_SECONDS):
            while not await self._is_ready():  # noqa: ASYNC110 - a question over the network has no event
                await asyncio.sleep(0.02)

    async def _is_ready(self) -> bool:
        queue = kueue.ClusterQueue.view(await self.hub.get(kueue.ClusterQueue.resource, arranging.NAME))
        members = [
            kueue.MultiKueueCluster.view(raw) for raw in (await self.hub.list(kueue.MultiKueueCluster.resource)).items
        ]
        connected = [member for member in members if member.is_connected]
        return conditions.is_true(queue.status.conditions, "Active") and len(connected) == len(self.workers)

    async def run_jobs(self, number: int, prefix: str) -> float:
        """Create jobs on the hub; return the seconds until all of them run on workers."""
        running: set[str] = set()
        done = asyncio.Event()

        def see(old: Job | None, new: Job | None) -> None:
            if new is not None and new.name.startswith(prefix) and new.status.active:
                running.add(new.name)
                if len(running) >= number:
                    done.set()

        async with self._seeing(see, self.workers):
            began = perf_counter()
            async with asyncio.timeout(RUNNING_SECONDS):
                await self._create(number, prefix)
                await done.wait()
            return perf_counter() - began

    async def finish_jobs(self, number: int, prefix: str, seconds: int) -> None:
        """Create jobs on the hub that run for some seconds; return when the hub says of all of them that they ended."""
        ended: set[str] = set()
        done = asyncio.Event()

        def see(old: Job | None, new: Job | None) -> None:
            if (
                new is not None
                and new.name.startswith(prefix)
                and conditions.is_true(new.status.conditions, "Complete")
            ):
                ended.add(new.name)
                if len(ended) >= number:
                    done.set()

        async with self._seeing(see, {HUB: self.hub}), asyncio.timeout(RUNNING_SECONDS):
            await self._create(number, prefix, seconds)
            await done.wait()

    async def _create(self, number: int, prefix: str, seconds: int = 3600) -> None:
        turns = asyncio.Semaphore(WRITERS)

        async def create(one: int) -> None:
            async with turns:
                await self.hub.create(Job.resource, arranging.job(f"{prefix}{one:04}", seconds))

        await asyncio.gather(*map(create, range(number)))

    @asynccontextmanager
    async def _seeing(self, see: Seen, clusters: dict[str, Client]) -> AsyncIterator[None]:
        informers = [Informer(client, Job, cluster=name) for name, client in clusters.items()]
        for informer in informers:
            informer.subscribe(see)
        following = [asyncio.create_task(informer.run()) for informer in informers]
        for informer in informers:
            await informer.synced.wait()
        try:
            yield
        finally:
            for task in following:
                task.cancel()
            await asyncio.wait(following)

    async def memory(self, cluster: str = "") -> float:
        """Return the resident megabytes of all processes, or of those of one cluster, where each has its own."""
        return memory(await self._pids(cluster))

    async def cpu(self, cluster: str = "") -> float:
        """Return the seconds that all processes have computed so far, or those of one cluster, as `memory` does."""
        return sum(map(cpu_seconds, await self._pids(cluster)))

    async def _pids(self, cluster: str = "") -> list[int]:
        found = await control.status(self.folder)
        return sorted({one.pid for one in found if one.pid and one.name.startswith(cluster)})


async def fleetqueue(*arguments: str) -> None:
    command = (sys.executable, "-m", "fleetqueue", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"fleetqueue {' '.join(arguments)}: {said.decode()}")

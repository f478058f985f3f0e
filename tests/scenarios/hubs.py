"""The two hubs that scenarios run on: our embedded one in virtual time, and a real one with upstream's controllers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.assembly.embedded import EmbeddedFleet
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.engine.fleet import RealFleet
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running

Controllers = Callable[[Cluster, Metrics], Sequence[Controller]]

QUIET = 1.2
"""Seconds without a change after which a real hub counts as settled; its controller writes every 20 ms at the least."""
QUIET_ALONE = 0.5
"""The same where there is only one scenario."""
PATIENCE = 60.0
SENTINEL = "sentinel"


class EmbeddedHub:
    def __init__(self, client: Client) -> None:
        self.client = client

    @classmethod
    @asynccontextmanager
    async def open(cls, systems: Sequence[str], controllers: Controllers) -> AsyncIterator["EmbeddedHub"]:
        """Start a hub with the custom kinds of some systems, and controllers on it."""
        async with EmbeddedFleet.open(workers=0) as fleet:
            hub = cls(fleet.hub.client())
            for system in systems:
                for definition in crds(system):
                    await hub.client.create(CustomResourceDefinition.resource, definition)
            await advance(60)  # the garbage collector looks for new kinds every half minute
            watched = Cluster("hub", fleet.hub.client())
            async with running(Manager(watched, controllers(watched, Metrics())).run()):
                yield hub

    async def settle(self, *, is_alone: bool = False) -> None:
        await advance(1)  # also what is tried again soon

    async def wait(self, seconds: float) -> None:
        await advance(seconds)


class RealHub:
    """A real hub with OCM's placement controller."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._informers: list[Informer[Any]] = [
            Informer(client, kind) for kind in (cluster.Placement, cluster.PlacementDecision)
        ]
        self._heard = asyncio.Event()
        self._changed = 0.0
        self._round = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path) -> AsyncIterator["RealHub"]:
        async with RealFleet(folder, workers=0, ocm="placement", kueue=False) as fleet:
            hub = cls(connect(load(fleet.clusters["hub"].kubeconfig)))
            try:
                async with hub._following():
                    await hub._post_sentinel()
                    yield hub
            finally:
                await hub.client.close()

    async def settle(self, *, is_alone: bool = False) -> None:
        """Wait until the controller, which works on one Placement after the other, got past all that it was given."""
        await self._hear_sentinel()
        async with asyncio.timeout(PATIENCE):
            quiet = QUIET_ALONE if is_alone else QUIET
            while (left := self._changed + quiet - clock.monotonic()) > 0:  # noqa: ASYNC110 - a change moves the end
                await asyncio.sleep(left)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    @asynccontextmanager
    async def _following(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(informer.run()) for informer in self._informers]
        for informer in self._informers:
            informer.subscribe(lambda old, new: self._note())
            await informer.synced.wait()
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _note(self) -> None:
        self._changed = clock.monotonic()
        if self._is_heard():
            self._heard.set()

    async def _post_sentinel(self) -> None:
        """Make a Placement whose message tells how often it was changed."""
        labels = {cluster.CLUSTER_SET_LABEL: SENTINEL}
        spec = {"numberOfClusters": 1, "clusterSets": [SENTINEL]}
        for kind, manifest in (
            (Namespace, Namespace.manifest(SENTINEL)),
            (cluster.ManagedClusterSet, cluster.ManagedClusterSet.manifest(SENTINEL, spec={})),
            (cluster.ManagedCluster, cluster.ManagedCluster.manifest(SENTINEL, labels=labels, spec={})),
            (
                cluster.ManagedClusterSetBinding,
                cluster.ManagedClusterSetBinding.manifest(SENTINEL, SENTINEL, spec={"clusterSet": SENTINEL}),
            ),
            (cluster.Placement, cluster.Placement.manifest(SENTINEL, SENTINEL, spec=spec)),
        ):
            await self.client.create(kind.resource, manifest)

    async def _hear_sentinel(self) -> None:
        self._round += 1
        self._heard.clear()
        patch = {"spec": {"numberOfClusters": 1 + self._round}}
        await self.client.merge(cluster.Placement.resource, SENTINEL, SENTINEL, patch)
        async with asyncio.timeout(PATIENCE):
            await self._heard.wait()

    def _is_heard(self) -> bool:
        placement = self._informers[0].store.get(f"{SENTINEL}/{SENTINEL}")
        said = conditions.find(placement.status.conditions, cluster.PLACEMENT_SATISFIED) if placement else None
        return said is not None and said.message == f"{self._round} cluster decisions unscheduled"

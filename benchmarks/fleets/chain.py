"""The way from a score to a MultiKueueConfig: a placement controller decides, our controller writes.

Every cluster of the hub has a score and a kubeconfig; all kubeconfigs lead to one worker, which holds nothing, so that
a cluster that is dropped is asked and then unlisted at once.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from placement import SCORE, WANTED, Bench, Chosen

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.client import Client
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.placement_admission.wiring import PlacementAdmission
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleets import arranging

SERVED_SECONDS = 2.0
"""How long a server may take to serve kinds that were just created."""
NOT_LINGERING = PlacementAdmissionSettings(linger=0.1)


class Chain(Bench):
    """A hub that grows, a Placement on it, and the config that follows it."""

    def __init__(self, client: Client, worker: InProcessCluster) -> None:
        super().__init__(client)
        self.worker = worker

    async def set_up(self) -> None:
        await self.client.create(Namespace.resource, Namespace.manifest(arranging.KUEUE))
        manifest = cluster.ManagedClusterSet.manifest(arranging.NAME, spec={})
        await self.client.create(cluster.ManagedClusterSet.resource, manifest)
        resource, score = SCORE
        coordinate = {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": score}}
        policy = {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate, "weight": 1}]}
        await arranging.create_placement(self.client, arranging.NAME, numberOfClusters=WANTED, prioritizerPolicy=policy)
        await arranging.create_checks(self.client)

    async def add(self, number: int) -> None:
        name = NOT_LINGERING.secret(f"c{number:04}")
        data = {"kubeconfig": self.worker.kubeconfig}
        await self.client.create(Secret.resource, Secret.manifest(name, arranging.KUEUE, stringData=data))
        await super().add(number)

    @asynccontextmanager
    async def following(self) -> AsyncIterator["asyncio.Queue[Chosen]"]:
        seen: asyncio.Queue[Chosen] = asyncio.Queue()
        informer = Informer(self.client, kueue.MultiKueueConfig)
        informer.subscribe(lambda old, new: seen.put_nowait(clusters_of(new)))
        following = asyncio.create_task(informer.run())
        await informer.synced.wait()
        try:
            yield seen
        finally:
            following.cancel()
            await asyncio.wait({following})


def clusters_of(config: kueue.MultiKueueConfig | None) -> Chosen:
    prefix = f"{arranging.NAME}-"
    return tuple(member.removeprefix(prefix) for member in config.spec.clusters) if config else ()


async def serve(client: Client, *groups: str) -> None:
    """Let a cluster serve the kinds of others, with nobody behind them."""
    for definition in (one for group in groups for one in crds(group)):
        await client.create(CustomResourceDefinition.resource, definition)
    await asyncio.sleep(SERVED_SECONDS)


@asynccontextmanager
async def admission(client: Client, fleet: EmbeddedFleet) -> AsyncIterator[None]:
    """Run our controller on a hub, in this process."""
    hub, metrics = Cluster("hub", client), Metrics()
    room = PlacementAdmission(hub, metrics, NOT_LINGERING, has_profiles=False, dial=fleet.dial)
    manager = Manager(hub, room.controllers)
    working = asyncio.create_task(manager.run())
    await manager.ready.wait()
    try:
        yield
    finally:
        working.cancel()
        await asyncio.wait({working})
        await room.close()
        await client.close()

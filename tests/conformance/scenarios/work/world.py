"""Scenarios of works and add-ons on both fleets: a hub, and one worker with its agents."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.api.core_v1 import Namespace, Pod, Secret
from fleetqueue.client import Client
from fleetqueue.client.certificates import CertificateSubject, new_request
from fleetqueue.client.kubeconfig import Connection, render
from fleetqueue.embedded.ocm.addons import wiring as addons
from fleetqueue.embedded.ocm.addons.settings import AddOnAgentSettings
from fleetqueue.embedded.ocm.work import wiring as works
from fleetqueue.embedded.ocm.work.settings import WorkAgentSettings, WorkHubSettings, hub_hash
from fleetqueue.fleets.embedded import CA, EmbeddedFleet, InProcessCluster
from fleetqueue.fleets.work_expressions import evaluate
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, running

from ..hubs import RealHub, lived_in  # noqa: TID252 - what the rooms share stands above them
from ..running import side_by_side  # noqa: TID252
from ..world import Ends, World, prefixes, written  # noqa: TID252
from .doing import Actor
from .end_state import end_state

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "w")
WORKER = "cluster1"
FOLLOWED = (
    work.ManifestWork,
    work.ManifestWorkReplicaSet,
    addon.ManagedClusterAddOn,
    addon.ClusterManagementAddOn,
)
ON_WORKER = (work.AppliedManifestWork, Secret, Deployment, Pod)
SETTLING = 5.0


class Settled(Protocol):
    async def settle(self) -> None: ...

    async def wait(self, seconds: float) -> None: ...


class InVirtualTime:
    async def settle(self) -> None:
        await advance(SETTLING)

    async def wait(self, seconds: float) -> None:
        await advance(seconds)


class BothSides:
    """Has settled when neither side moves: what ends on one may begin on the other."""

    def __init__(self, *sites: RealHub) -> None:
        self.sites = sites

    async def settle(self) -> None:
        await asyncio.gather(*(site.settle() for site in self.sites))
        await asyncio.gather(*(site.settle() for site in self.sites))

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=1, ocm="full", kueue=False) as fleet,
        RealHub.open(fleet.clusters["hub"], FOLLOWED, quiet=SETTLING, patience=180.0) as hub,
        RealHub.open(fleet.clusters[WORKER], ON_WORKER, quiet=SETTLING, patience=180.0) as worker,
    ):
        return await _run(BothSides(hub, worker), hub.client, worker.client)


async def run_on_ours() -> Ends:
    async with EmbeddedFleet.open(workers=1) as fleet:
        await _prepare(fleet)
        async with lived_in(fleet, lambda: _ocm(fleet)):
            return await _run(InVirtualTime(), fleet.hub.client(), fleet.clusters[WORKER].client())


async def _run(time: Settled, hub: Client, worker: Client) -> Ends:
    actors = [Actor(hub, worker, each, PREFIXES[each["name"]], WORKER) for each in DESCRIBED]
    await side_by_side(actor.prepare() for actor in actors)
    for number in range(max(len(actor.steps) for actor in actors)):
        await side_by_side(actor.act(number) for actor in actors)
        await time.settle()
        if seconds := max(actor.wait(number) for actor in actors):
            await time.wait(seconds)
            await time.settle()
    return {actor.name: await end_state(actor) for actor in actors}


async def _prepare(fleet: EmbeddedFleet) -> None:
    """Let the one worker have joined."""
    hub, worker = fleet.hub, fleet.clusters[WORKER]
    await _install(hub.client(), "ocm-hub")
    await _install(worker.client(), "ocm-agent")
    await advance(60)  # the garbage collector looks for new kinds every half minute
    await hub.client().create(Namespace.resource, Namespace.manifest(WORKER))
    await hub.client().create(cluster.ManagedCluster.resource, _managed_cluster())
    status = {"status": {"conditions": [condition(cluster.AVAILABLE), condition(cluster.JOINED)]}}
    await hub.client().merge(cluster.ManagedCluster.resource, WORKER, "", status, subresource="status")


@asynccontextmanager
async def _ocm(fleet: EmbeddedFleet) -> AsyncIterator[None]:
    """Run our half of the hub, and our agents of the worker."""
    hub, worker = fleet.hub, fleet.clusters[WORKER]
    watched = Cluster("hub", hub.client())
    controllers = [
        *works.hub_controllers(watched, Metrics(), WorkHubSettings(clean_up_completed=False)),
        *addons.hub_controllers(watched, Metrics()),
        *addons.registration_controllers(watched, Metrics()),
    ]
    async with running(Manager(watched, controllers).run()), running(_agents(await _agent(fleet), hub, worker)):
        await advance(1)
        yield


async def _agents(client: Client, hub: InProcessCluster, worker: InProcessCluster) -> None:
    """Run the agents of a worker: caches of both sides, and the controllers."""
    near, far = Cluster(worker.name, worker.client()), Cluster("hub", client)
    settings = WorkAgentSettings(cluster=worker.name, hub_hash=hub_hash(hub.url))
    kubeconfig = render("hub", server=hub.url, ca=CA, token="", user="")
    controllers = [
        *works.agent_controllers(
            far, near, Metrics(), settings, evaluate=evaluate, impersonate=lambda user: worker.client()
        ),
        *addons.agent_controllers(far, near, Metrics(), AddOnAgentSettings(worker.name, kubeconfig)),
    ]
    manager = Manager(far, controllers)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(near.run())
        tasks.create_task(manager.run())


async def _agent(fleet: EmbeddedFleet) -> Client:
    """Open the hub as the registration agent of the worker, who may also do all that its other agents may."""
    groups = (f"system:open-cluster-management:{WORKER}", "system:masters")
    key, request = new_request(CertificateSubject(f"system:open-cluster-management:{WORKER}:agent", groups), "agent")
    certificate = await fleet.hub.authority.sign(request, None)
    return fleet.dial(Connection(fleet.hub.url, ca=CA, client_certificate=certificate, client_key=key))


async def _install(client: Client, *systems: str) -> None:
    for system in systems:
        for definition in crds(system):
            try:
                await client.create(CustomResourceDefinition.resource, definition)
            except errors.AlreadyExists:
                continue


def _managed_cluster() -> dict[str, object]:
    return cluster.ManagedCluster.manifest(WORKER, spec={"hubAcceptsClient": True})


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=420.0)

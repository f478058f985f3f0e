"""Registration scenarios on both hubs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.certificates_v1 import CertificateSigningRequest
from fleetqueue.api.core_v1 import Namespace, Secret, secret
from fleetqueue.api.rbac_v1 import ClusterRole, RoleBinding
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.embedded.ocm.addons import wiring as add_ons
from fleetqueue.embedded.ocm.registration import wiring
from fleetqueue.embedded.ocm.registration.names import AGENT_NAMESPACE, BOOTSTRAP_SECRET, KUBECONFIG
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings, RegistrationHubSettings
from fleetqueue.fleets.embedded import CA, EmbeddedFleet, InProcessCluster
from fleetqueue.lab.pki import ADMIN_USER
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running

from ..hubs import EmbeddedHub, RealHub, lived_in  # noqa: TID252 - what the rooms share stands above them
from ..running import Hub  # noqa: TID252
from ..world import Ends, World, prefixes, written  # noqa: TID252
from .doing import Actor, run
from .end_state import WORKER, end_state

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "r")
SETTINGS = RegistrationHubSettings(auto_accept=True, auto_approved_users=[ADMIN_USER])
"""As the real hub is started."""
FOLLOWED = (
    cluster.ManagedCluster,
    cluster.ManagedClusterSet,
    cluster.ManagedClusterSetBinding,
    CertificateSigningRequest,
    ClusterRole,
    RoleBinding,
)
QUIET = 7.0
"""Seconds without a change after which the real hub counts as settled: it looks every five whether works are gone."""


async def run_on_ours() -> Ends:
    async with EmbeddedFleet.open(workers=1) as fleet:
        hub, worker = fleet.hub, fleet.workers[0]
        await _serve(hub, "ocm-hub")
        await _serve(worker, "ocm-agent")
        await advance(60)  # the garbage collector looks for new kinds every half minute
        await _introduce(fleet)
        async with lived_in(fleet, lambda: _parts(fleet)):
            await advance(10)  # until the worker has joined
            return await _run(EmbeddedHub(hub.client(), settling=8), worker.client())


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=1, ocm="full", kueue=False) as fleet,
        RealHub.open(fleet.clusters["hub"], FOLLOWED, quiet=QUIET, patience=180.0) as hub,
    ):
        worker = connect(load(fleet.clusters[WORKER].kubeconfig))
        try:
            return await _run(hub, worker)
        finally:
            await worker.close()


async def _serve(cluster: InProcessCluster, system: str) -> None:
    for definition in crds(system):
        await cluster.client().create(CustomResourceDefinition.resource, definition)


def _registration(hub: InProcessCluster) -> Manager:
    """Run all that upstream's one process does, of which the part about add-ons is another room's."""
    watched = Cluster("hub", hub.client())
    metrics = Metrics()
    of_add_ons = add_ons.registration_controllers(watched, metrics)
    return Manager(watched, [*wiring.hub_controllers(watched, metrics, SETTINGS), *of_add_ons])


@asynccontextmanager
async def _parts(fleet: EmbeddedFleet) -> AsyncIterator[None]:
    worker = fleet.workers[0]
    settings = RegistrationAgentSettings(WORKER, urls=[worker.url], ca=CA)
    agent = wiring.agent(worker.client(), fleet.dial, Metrics(), settings)
    async with running(_registration(fleet.hub).run()), running(agent.run()):
        yield


async def _introduce(fleet: EmbeddedFleet) -> None:
    """Let the agent start as the real one does: with the kubeconfig of an administrator, whom the hub knows."""
    client = fleet.workers[0].client()
    await client.create(Namespace.resource, Namespace.manifest(AGENT_NAMESPACE))
    await client.create(Secret.resource, secret(BOOTSTRAP_SECRET, AGENT_NAMESPACE, {KUBECONFIG: fleet.hub.kubeconfig}))


async def _run(hub: Hub, worker: Client) -> Ends:
    actors = [Actor(hub.client, worker, described, PREFIXES[described["name"]]) for described in DESCRIBED]
    await run(hub, actors)
    return {actor.said["name"]: await end_state(hub.client, actor) for actor in actors}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=300.0)

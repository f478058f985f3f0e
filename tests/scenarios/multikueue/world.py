"""MultiKueue scenarios on both fleets: a hub and two workers with Kueue on each."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.assembly.embedded import EmbeddedCluster, EmbeddedFleet
from fleetqueue.controllers.kueue.manager import KueueManager
from fleetqueue.controllers.kueue.settings import KueueSettings
from fleetqueue.controllers.multikueue import room
from fleetqueue.controllers.multikueue.settings import MultiKueueSettings
from fleetqueue.engine.fleet import RealFleet
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running

from ..hubs import EmbeddedHub, RealHub  # noqa: TID252 - what the rooms share stands above them
from ..running import Hub  # noqa: TID252
from ..world import Ends, World, prefixes, written  # noqa: TID252
from .doing import Actor, run
from .end_state import end_state
from .form import SYSTEM, WORKERS

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "m")
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, Job, kueue.MultiKueueCluster, kueue.AdmissionCheck)


async def run_on_ours() -> Ends:
    async with EmbeddedFleet.open(workers=len(WORKERS)) as fleet, AsyncExitStack() as stack:
        for cluster in fleet.clusters.values():
            client = cluster.client()
            for definition in crds("kueue"):
                await client.create(CustomResourceDefinition.resource, definition)
            await client.create(Namespace.resource, Namespace.manifest(SYSTEM))
        await advance(60)  # the garbage collector looks for new kinds every half minute
        for cluster in fleet.clusters.values():
            await stack.enter_async_context(running(_manager(fleet, cluster).run()))
        await advance(2)  # until its webhooks have their say
        sites = {name: EmbeddedHub(cluster.client(), settling=6) for name, cluster in fleet.clusters.items()}
        return await _run(sites, {name: cluster.kubeconfig for name, cluster in fleet.clusters.items()})


async def run_on_real(folder: Path) -> Ends:
    async with RealFleet(folder, workers=len(WORKERS), ocm="placement") as fleet, _sites(fleet) as sites:
        kubeconfigs = {name: cluster.kubeconfig.read_text() for name, cluster in fleet.clusters.items()}
        return await _run(sites, kubeconfigs)


@asynccontextmanager
async def _sites(fleet: RealFleet) -> AsyncIterator[Mapping[str, Hub]]:
    async with AsyncExitStack() as stack:
        found: dict[str, Hub] = {}
        for name, cluster in fleet.clusters.items():
            opened = RealHub.open(cluster, FOLLOWED, quiet=3.5, patience=180.0)
            found[name] = await stack.enter_async_context(opened)
        yield found


def _manager(fleet: EmbeddedFleet, cluster: EmbeddedCluster) -> KueueManager:
    view, metrics = Cluster(cluster.name, cluster.client()), Metrics()
    install = partial(cluster.server.webhooks.install, "kueue")
    is_hub = cluster is fleet.hub
    more = room.controllers(view, metrics, MultiKueueSettings(), dial=fleet.dial) if is_hub else ()
    return KueueManager(view, metrics, KueueSettings(), find=cluster.server.find, install=install, more=more)


async def _run(sites: Mapping[str, Hub], kubeconfigs: dict[str, str]) -> Ends:
    actors = [Actor(sites, kubeconfigs, described, PREFIXES[described["name"]]) for described in DESCRIBED]
    await run(sites, actors)
    return {actor.said["name"]: await end_state(actor) for actor in actors}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=420.0)

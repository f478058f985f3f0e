"""Scenarios of waiting for pods that run on workers: a hub whose Kueue is configured for it, and two workers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.multikueue import wiring
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running

from ..hubs import EmbeddedHub, followed_together, lived_in, make_room  # noqa: TID252 - the rooms share them
from ..kueue_readiness.form import Configured, described, read  # noqa: TID252
from ..kueue_readiness.world import configure, configured, settings_of  # noqa: TID252
from ..multikueue.doing import Actor, run  # noqa: TID252
from ..multikueue.end_state import end_state  # noqa: TID252
from ..multikueue.form import SYSTEM, WORKERS  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes  # noqa: TID252

HERE = Path(__file__).parent
GROUPS = read(HERE)
DESCRIBED = described(GROUPS)
PREFIXES = prefixes(DESCRIBED, "q")
FRAMEWORKS = ("batch/job",)
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, Job, kueue.MultiKueueCluster, kueue.AdmissionCheck)


async def run_on_ours(some: Sequence[Described] = DESCRIBED, *, is_checked: bool = True) -> Ends:
    ends: Ends = {}
    for group in GROUPS:
        if chosen := group.chosen(some):
            ends |= await _ours(group, chosen, is_checked=is_checked)
    return ends


async def run_on_real(folder: Path) -> Ends:
    ends: Ends = {}
    for group in GROUPS:
        async with RealFleet(folder / group.name, workers=len(WORKERS), ocm="none", frameworks=FRAMEWORKS) as fleet:
            await configure(fleet, {**await configured(fleet), **group.configuration})
            async with followed_together(fleet, FOLLOWED) as sites:
                kubeconfigs = {name: cluster.kubeconfig.read_text() for name, cluster in fleet.clusters.items()}
                ends |= await _run(sites, kubeconfigs, group.scenarios)
    return ends


async def _ours(group: Configured, some: Sequence[Described], *, is_checked: bool) -> Ends:
    async with EmbeddedFleet.open(workers=len(WORKERS)) as fleet:
        for cluster in fleet.clusters.values():
            for definition in crds("kueue"):
                await cluster.client().create(CustomResourceDefinition.resource, definition)
            await cluster.client().create(Namespace.resource, Namespace.manifest(SYSTEM))
        await advance(60)  # the garbage collector looks for new kinds every half minute
        async with lived_in(fleet, lambda: _managers(group, fleet), is_checked=is_checked):
            await advance(2)  # until its webhooks have their say
            sites = {name: EmbeddedHub(cluster.client(), settling=6) for name, cluster in fleet.clusters.items()}
            kubeconfigs = {name: cluster.kubeconfig for name, cluster in fleet.clusters.items()}
            return await _run(sites, kubeconfigs, some)


@asynccontextmanager
async def _managers(group: Configured, fleet: EmbeddedFleet) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for cluster in fleet.clusters.values():
            await stack.enter_async_context(running(_manager(group, fleet, cluster).run()))
        yield


def _manager(group: Configured, fleet: EmbeddedFleet, cluster: InProcessCluster) -> KueueManager:
    view, metrics = Cluster(cluster.name, cluster.client()), Metrics()
    install = partial(cluster.server.webhooks.install, "kueue")
    if cluster is not fleet.hub:
        return KueueManager(view, metrics, KueueSettings(), find=cluster.server.find, install=install)
    more = partial(wiring.controllers, view, metrics, MultiKueueSettings(), dial=fleet.dial)
    settings = settings_of(group, FRAMEWORKS)
    return KueueManager(view, metrics, settings, find=cluster.server.find, install=install, more=more)


async def _run(sites: Mapping[str, Hub], kubeconfigs: dict[str, str], scenarios: Sequence[Described]) -> Ends:
    for site in sites.values():
        await make_room(site.client)
    actors = [Actor(sites, kubeconfigs, each, PREFIXES[each["name"]]) for each in scenarios]
    await run(sites, actors)
    return {actor.said["name"]: await end_state(actor) for actor in actors}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=600.0)

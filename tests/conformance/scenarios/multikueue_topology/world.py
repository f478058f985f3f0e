"""Scenarios of delayed topology requests on both fleets: a hub without nodes, and two workers that have some."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.fields import without_field
from fleetqueue.api.jobset_v1alpha2 import JobSet
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

from ..hubs import EmbeddedHub, followed_together, lived_in  # noqa: TID252 - the rooms share them
from ..multikueue import doing  # noqa: TID252
from ..multikueue.end_state import end_state  # noqa: TID252
from ..multikueue.form import SYSTEM, WORKERS  # noqa: TID252
from ..multikueue.world import run_job_sets  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes, written  # noqa: TID252
from .form import KINDS, surroundings

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "d")
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset")
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, Job, JobSet, kueue.MultiKueueCluster, kueue.AdmissionCheck)


class Actor(doing.Actor):
    kinds = KINDS

    async def arrange(self) -> None:
        for where, manifest in surroundings(self.said, self.prefix, self.kubeconfigs):
            await self._create(where, manifest)


async def run_on_ours(some: Sequence[Described] = DESCRIBED, *, is_checked: bool = True) -> Ends:
    async with EmbeddedFleet.open(workers=len(WORKERS)) as fleet:
        for cluster in fleet.clusters.values():
            for definition in [*crds("kueue"), *crds("jobset")]:
                await cluster.client().create(CustomResourceDefinition.resource, definition)
            await cluster.client().create(Namespace.resource, Namespace.manifest(SYSTEM))
        await advance(60)  # the garbage collector looks for new kinds every half minute
        async with lived_in(fleet, lambda: _managers(fleet), is_checked=is_checked):
            await advance(2)  # until its webhooks have their say
            sites = {name: EmbeddedHub(cluster.client(), settling=6) for name, cluster in fleet.clusters.items()}
            kubeconfigs = {name: cluster.kubeconfig for name, cluster in fleet.clusters.items()}
            return await _run(sites, kubeconfigs, some)


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=len(WORKERS), ocm="none", frameworks=FRAMEWORKS) as fleet,
        followed_together(fleet, FOLLOWED) as sites,
        AsyncExitStack() as stack,
    ):
        for name, site in sites.items():
            await stack.enter_async_context(running(run_job_sets(name, site.client)))
        kubeconfigs = {name: cluster.kubeconfig.read_text() for name, cluster in fleet.clusters.items()}
        return await _run(sites, kubeconfigs, DESCRIBED)


@asynccontextmanager
async def _managers(fleet: EmbeddedFleet) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for cluster in fleet.clusters.values():
            await stack.enter_async_context(running(_manager(fleet, cluster).run()))
            await stack.enter_async_context(running(run_job_sets(cluster.name, cluster.client())))
        yield


def _manager(fleet: EmbeddedFleet, cluster: InProcessCluster) -> KueueManager:
    view, metrics = Cluster(cluster.name, cluster.client()), Metrics()
    install = partial(cluster.server.webhooks.install, "kueue")
    settings, remote = KueueSettings(frameworks=FRAMEWORKS), MultiKueueSettings(frameworks=FRAMEWORKS)
    more = partial(wiring.controllers, view, metrics, remote, dial=fleet.dial) if cluster is fleet.hub else tuple
    return KueueManager(view, metrics, settings, find=cluster.server.find, install=install, more=more)


async def _run(sites: Mapping[str, Hub], kubeconfigs: dict[str, str], scenarios: Sequence[Described]) -> Ends:
    actors = [Actor(sites, kubeconfigs, each, PREFIXES[each["name"]]) for each in scenarios]
    await doing.run(sites, actors)
    return {actor.said["name"]: _certain(await end_state(actor), actor.said) for actor in actors}


def _certain(end: dict[str, Any], said: Described) -> dict[str, Any]:
    """Return an end without what depends on who looks first."""
    for place in said.get("uncertain", ()):
        end = without_field(end, tuple(place.split(".")))
    return end


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=600.0)

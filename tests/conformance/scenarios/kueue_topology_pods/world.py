"""Scenarios of pods and their nodes on both clusters, on which nobody but the scenario plays the kubelets.

On the real one no kwok runs, and Kubernetes' controllers leave nodes alone; on ours only those run that run there.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.embedded.kubernetes.garbage_collection import GarbageCollectionController
from fleetqueue.embedded.kubernetes.jobs import JobController
from fleetqueue.embedded.kubernetes.service_accounts import ServiceAccountController
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.nodes.scheduler import PodSchedulerController
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running

from ..hubs import EmbeddedHub, RealHub, lived_in  # noqa: TID252 - what the rooms share stands above them
from ..kueue_jobs.doing import run  # noqa: TID252
from ..multikueue.world import run_job_sets  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes, written  # noqa: TID252
from .doing import Actor
from .end_state import end_state

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "n")
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "pod")
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, Job, JobSet, Pod)


async def run_on_ours(described: Sequence[Described] = DESCRIBED, *, is_checked: bool = True) -> Ends:
    fleet = EmbeddedFleet([await InProcessCluster.new(HUB)])
    async with fleet.living(with_parts=False):
        hub = EmbeddedHub(fleet.hub.client(), settling=8)
        for definition in [*crds("kueue"), *crds("jobset")]:
            await hub.client.create(CustomResourceDefinition.resource, definition)
        async with running(_kubernetes(fleet.hub).run()), running(run_job_sets(HUB, fleet.hub.client())):
            await advance(60)  # the garbage collector looks for new kinds every half minute
            async with lived_in(fleet, lambda: running(_kueue(fleet.hub).run()), is_checked=is_checked):
                await hub.wait(2)  # until its webhooks have their say
                return await _run(hub, described)


async def run_on_real(folder: Path) -> Ends:
    async with RealFleet(folder, workers=0, ocm="none", frameworks=FRAMEWORKS) as fleet:
        await fleet.processes.stop(f"{HUB}/kwok")
        async with (
            RealHub.open(fleet.clusters[HUB], FOLLOWED, quiet=4.0, patience=180.0) as hub,
            running(run_job_sets(HUB, hub.client)),
        ):
            return await _run(hub, DESCRIBED)


def _kubernetes(hub: InProcessCluster) -> Manager:
    cluster, metrics = Cluster(HUB, hub.client()), Metrics()
    accounts = ServiceAccountController(cluster, metrics, ca="")
    kinds = (GarbageCollectionController, JobController, PodSchedulerController)
    return Manager(cluster, [accounts, *(kind(cluster, metrics) for kind in kinds)])


def _kueue(hub: InProcessCluster) -> KueueManager:
    install = partial(hub.server.webhooks.install, "kueue")
    settings = KueueSettings(frameworks=FRAMEWORKS)
    return KueueManager(Cluster(HUB, hub.client()), Metrics(), settings, find=hub.server.find, install=install)


async def _run(hub: Hub, described: Sequence[Described]) -> Ends:
    actors = [Actor(hub.client, each, PREFIXES[each["name"]]) for each in described]
    await run(hub, actors)
    return {actor.said["name"]: await end_state(hub.client, actor) for actor in actors}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=600.0)

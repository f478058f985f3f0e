"""Job scenarios on both clusters."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics

from ..hubs import EmbeddedHub, RealHub, make_room  # noqa: TID252 - what the rooms share stands above them
from ..job_samples import SAMPLES  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes, written  # noqa: TID252
from . import kinds, topologies
from .doing import Actor, run
from .end_state import end_state
from .form import JOB_KINDS

HERE = Path(__file__).parent
DESCRIBED = [*written(HERE), *kinds.described(), *topologies.described()]
FRAMEWORKS = ("batch/job", *(sample.of.framework for sample in SAMPLES))
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, Job, *JOB_KINDS.values())
SYSTEMS = ("kueue", "jobset", "training-operator", "mpi-operator", "kuberay")
PREFIXES = prefixes(DESCRIBED, "j")


async def run_on_ours(described: Sequence[Described] = DESCRIBED, *, is_checked: bool = True) -> Ends:
    async with EmbeddedHub.open(SYSTEMS, _manager, settling=8, is_checked=is_checked) as hub:
        await hub.wait(2)  # until its webhooks have their say
        return await _run(hub, described)


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=0, ocm="placement", frameworks=FRAMEWORKS) as fleet,
        RealHub.open(fleet.clusters["hub"], FOLLOWED, quiet=4.0, patience=180.0) as hub,
    ):
        return await _run(hub, DESCRIBED)


def _manager(hub: InProcessCluster) -> KueueManager:
    install = partial(hub.server.webhooks.install, "kueue")
    settings = KueueSettings(frameworks=FRAMEWORKS)
    return KueueManager(Cluster("hub", hub.client()), Metrics(), settings, find=hub.server.find, install=install)


async def _run(hub: Hub, described: Sequence[Described]) -> Ends:
    await make_room(hub.client)
    actors = [Actor(hub.client, each, PREFIXES[each["name"]]) for each in described]
    await run(hub, actors)
    return {actor.said["name"]: await end_state(hub.client, actor) for actor in actors}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=600.0)

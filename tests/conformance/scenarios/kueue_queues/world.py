"""Queue scenarios on both hubs."""

from functools import partial
from pathlib import Path

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client.transport import connect
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.multikueue import wiring as multikueue
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics

from ..hubs import EmbeddedHub, RealHub  # noqa: TID252 - what the rooms share stands above them
from ..running import Hub  # noqa: TID252
from ..world import Ends, World, prefixes, written  # noqa: TID252
from .doing import run
from .end_state import end_state
from .form import namespace, steps
from .generated import generated

HERE = Path(__file__).parent
DESCRIBED = [*written(HERE), *generated()]
PREFIXES = prefixes(DESCRIBED, "k")
QUIET = 4.0
"""Seconds without a change after which the real hub counts as settled: it gathers changes for one before it looks."""
FRAMEWORKS = ("batch/job",)
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, kueue.LocalQueue, kueue.Cohort)


async def run_on_ours() -> Ends:
    async with EmbeddedHub.open(["kueue"], _manager, settling=3) as hub:
        await hub.wait(2)  # until its webhooks have their say
        return await _run(hub)


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=0, ocm="placement", frameworks=FRAMEWORKS) as fleet,
        RealHub.open(fleet.clusters["hub"], FOLLOWED, quiet=QUIET, patience=180.0) as hub,
    ):
        return await _run(hub)


def _manager(hub: InProcessCluster) -> KueueManager:
    install = partial(hub.server.webhooks.install, "kueue")
    cluster, metrics, settings = Cluster("hub", hub.client()), Metrics(), KueueSettings(frameworks=FRAMEWORKS)
    more = partial(multikueue.controllers, cluster, metrics, MultiKueueSettings(), dial=connect)
    return KueueManager(cluster, metrics, settings, find=hub.server.find, install=install, more=more)


async def _run(hub: Hub) -> Ends:
    await run(hub, {namespace(PREFIXES[each["name"]]): [*steps(each, PREFIXES[each["name"]])] for each in DESCRIBED})
    return {name: await end_state(hub.client, prefix) for name, prefix in PREFIXES.items()}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real)

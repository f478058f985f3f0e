"""Topology scenarios on both hubs, on which nobody but the test says how the nodes are.

On ours no Kubernetes runs beside its API, and on the real one no kwok: both would make every node ready again.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import running

from ..hubs import EmbeddedHub, RealHub, lived_in  # noqa: TID252 - what the rooms share stands above them
from ..kueue_queues.doing import run  # noqa: TID252
from ..kueue_queues.end_state import end_state  # noqa: TID252
from ..kueue_queues.form import namespace, steps  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes, written  # noqa: TID252
from .form import Maker
from .generated import generated

HERE = Path(__file__).parent
DESCRIBED = [*written(HERE), *generated()]
PREFIXES = prefixes(DESCRIBED, "t")
FRAMEWORKS = ("batch/job",)
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, kueue.LocalQueue, kueue.Cohort, Topology)
COMPARED = {"topologies": Topology}


async def run_on_ours(described: Sequence[Described] = DESCRIBED, *, is_checked: bool = True) -> Ends:
    fleet = EmbeddedFleet([await InProcessCluster.new(HUB)])
    async with fleet.living(with_parts=False):
        hub = EmbeddedHub(fleet.hub.client(), settling=4)
        for definition in crds("kueue"):
            await hub.client.create(CustomResourceDefinition.resource, definition)
        async with lived_in(fleet, lambda: running(_manager(fleet.hub).run()), is_checked=is_checked):
            await hub.wait(2)  # until its webhooks have their say
            return await _run(hub, described)


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=0, ocm="none", frameworks=FRAMEWORKS) as fleet,
        _left_alone(fleet),
        RealHub.open(fleet.clusters[HUB], FOLLOWED, quiet=4.0, patience=180.0) as hub,
    ):
        return await _run(hub, DESCRIBED)


@asynccontextmanager
async def _left_alone(fleet: RealFleet) -> AsyncIterator[None]:
    await fleet.processes.stop(f"{HUB}/kwok")
    yield


def _manager(hub: InProcessCluster) -> KueueManager:
    install = partial(hub.server.webhooks.install, "kueue")
    settings = KueueSettings(frameworks=FRAMEWORKS)
    return KueueManager(Cluster(HUB, hub.client()), Metrics(), settings, find=hub.server.find, install=install)


async def _run(hub: Hub, described: Sequence[Described]) -> Ends:
    names = {each["name"]: PREFIXES[each["name"]] for each in described}
    await run(hub, {namespace(names[each["name"]]): [*steps(each, names[each["name"]], Maker)] for each in described})
    return {name: await end_state(hub.client, prefix, COMPARED) for name, prefix in names.items()}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=900.0)

"""Placement scenarios on both hubs."""

from pathlib import Path

from fleetqueue.embedded.ocm.placement.settings import PlacementSettings
from fleetqueue.embedded.ocm.placement.wiring import controllers
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.fleets.placement_expressions import compile_expression
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

from ..hubs import EmbeddedHub  # noqa: TID252 - what the rooms share stands above them
from ..running import run  # noqa: TID252
from ..world import Ends, World, prefixes, written  # noqa: TID252
from .form import scenario
from .generated import generated
from .sentinel import KINDS, PATIENCE, QUIET, SentinelHub

HERE = Path(__file__).parent
DESCRIBED = [*written(HERE), *generated()]
PREFIXES = prefixes(DESCRIBED, "x")


async def run_on_ours() -> Ends:
    async with EmbeddedHub.open(["ocm-hub"], _manager, settling=1) as hub:
        return await run(hub, [scenario(each, PREFIXES[each["name"]]) for each in DESCRIBED])


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=0, ocm="placement", kueue=False) as fleet,
        SentinelHub.open(fleet.clusters["hub"], KINDS, quiet=QUIET, patience=PATIENCE) as hub,
    ):
        await hub.post_sentinel()
        return await run(hub, [scenario(each, PREFIXES[each["name"]]) for each in DESCRIBED])


def _manager(hub: InProcessCluster) -> Manager:
    cluster = Cluster("hub", hub.client())
    settings = PlacementSettings()
    return Manager(cluster, controllers(cluster, Metrics(), settings, compile_expression=compile_expression))


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real)

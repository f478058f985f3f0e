"""Scenarios about ClusterProfiles on both hubs: ours, and one with OCM's registration controller."""

from pathlib import Path

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.embedded.ocm.cluster_profiles.wiring import controllers
from fleetqueue.embedded.ocm.registration.settings import RegistrationHubSettings
from fleetqueue.embedded.ocm.registration.wiring import hub_controllers
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

from ..hubs import EmbeddedHub, RealHub  # noqa: TID252 - what the rooms share stands above them
from ..running import run  # noqa: TID252
from ..world import Ends, World, prefixes, written  # noqa: TID252
from .form import scenario

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "f")
SETTINGS = RegistrationHubSettings(auto_accept=True)
"""As the real hub is started."""
QUIET = 7.0
"""Seconds without a change after which the real hub counts as settled: it looks every five whether works are gone."""
FOLLOWED = (cluster.ManagedCluster, cluster.ManagedClusterSet, cluster.ManagedClusterSetBinding, ClusterProfile)


async def run_on_ours() -> Ends:
    async with EmbeddedHub.open(["ocm-hub", "cluster-inventory"], _manager, settling=3) as hub:
        return await run(hub, [scenario(each, PREFIXES[each["name"]]) for each in DESCRIBED])


async def run_on_real(folder: Path) -> Ends:
    async with (
        RealFleet(folder, workers=0, ocm="full", kueue=False) as fleet,
        RealHub.open(fleet.clusters["hub"], FOLLOWED, quiet=QUIET, patience=180.0) as hub,
    ):
        return await run(hub, [scenario(each, PREFIXES[each["name"]]) for each in DESCRIBED])


def _manager(hub: InProcessCluster) -> Manager:
    cluster, metrics = Cluster("hub", hub.client()), Metrics()
    return Manager(cluster, [*hub_controllers(cluster, metrics, SETTINGS), *controllers(cluster, metrics)])


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real)

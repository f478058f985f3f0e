"""Scenarios of fair sharing on both hubs, on a hub of its own for each configuration of the manager."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.embedded.kueue import configuration
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.kueue import CONFIG_KEY, CONFIG_MAP, NAMESPACE, read_config
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics

from ..hubs import EmbeddedHub, RealHub  # noqa: TID252 - what the rooms share stands above them
from ..kueue_queues.doing import run  # noqa: TID252
from ..kueue_queues.form import namespace, steps  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes, written  # noqa: TID252
from .end_state import end_state
from .generated import generated

HERE = Path(__file__).parent
DESCRIBED = [*written(HERE), *generated()]
PREFIXES = prefixes(DESCRIBED, "f")
FRAMEWORKS = ("batch/job",)
FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
CONFIGURATIONS: dict[str, Described] = {
    "both": {"fairSharing": {"preemptionStrategies": [FINAL, INITIAL]}},
    "final": {"fairSharing": {"preemptionStrategies": [FINAL]}},
    "initial": {"fairSharing": {"preemptionStrategies": [INITIAL]}},
    "by usage": {
        "admissionFairSharing": {
            "usageHalfLifeTime": "10s",
            "usageSamplingInterval": "1s",
            "resourceWeights": {"memory": 0},
        }
    },
}
"""What a scenario may say under `configuration`; the first one is that of all who say nothing."""
USUAL = "both"
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, kueue.Cohort)
"""LocalQueues say every second what was used."""


async def run_on_ours(described: Sequence[Described] = DESCRIBED, *, is_checked: bool = True) -> Ends:
    ends: Ends = {}
    for name, of_one in by_configuration(described).items():
        manager = partial(_manager, name)
        async with EmbeddedHub.open(["kueue"], manager, settling=3, is_checked=is_checked) as hub:
            await hub.wait(2)  # until its webhooks have their say
            ends |= await _run(hub, of_one)
    return ends


async def run_on_real(folder: Path) -> Ends:
    ends: Ends = {}
    for name, of_one in by_configuration(DESCRIBED).items():
        async with RealFleet(folder / name.replace(" ", "-"), workers=0, ocm="none", frameworks=FRAMEWORKS) as fleet:
            await _configure(fleet, name)
            async with RealHub.open(fleet.clusters[HUB], FOLLOWED, quiet=4.0, patience=180.0) as hub:
                ends |= await _run(hub, of_one)
    return ends


def by_configuration(described: Sequence[Described]) -> dict[str, list[Described]]:
    found: dict[str, list[Described]] = {}
    for each in described:
        found.setdefault(each.get("configuration", USUAL), []).append(each)
    return found


async def _configure(fleet: RealFleet, name: str) -> None:
    cluster = fleet.clusters[HUB]
    async with cluster.api() as api:
        config = {**await read_config(api), **CONFIGURATIONS[name]}
        text = yaml.safe_dump(config, sort_keys=False)
        await api.ensure(ConfigMap.manifest(CONFIG_MAP, NAMESPACE, data={CONFIG_KEY: text}))
    await fleet.kueue(cluster).restart()


def _manager(name: str, hub: InProcessCluster) -> KueueManager:
    install = partial(hub.server.webhooks.install, "kueue")
    unelected = {"leaderElection": {"leaderElect": False}, "integrations": {"frameworks": [*FRAMEWORKS]}}
    settings = configuration.read(yaml.safe_dump({**unelected, **CONFIGURATIONS[name]}))
    return KueueManager(Cluster(HUB, hub.client()), Metrics(), settings, find=hub.server.find, install=install)


async def _run(hub: Hub, described: Sequence[Described]) -> Ends:
    names = {each["name"]: PREFIXES[each["name"]] for each in described}
    await run(hub, {namespace(names[each["name"]]): [*steps(each, names[each["name"]])] for each in described})
    return {name: await end_state(hub.client, prefix) for name, prefix in names.items()}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=900.0)

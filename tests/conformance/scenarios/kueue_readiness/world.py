"""Scenarios of waiting for pods and of what counts of their requests, each on Kueue as its file configures it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import configuration
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.kueue import CONFIG_KEY, CONFIG_MAP
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics

from ..hubs import EmbeddedHub, RealHub, make_room  # noqa: TID252 - what the rooms share stands above them
from ..kueue_jobs.form import JOB_KINDS  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes  # noqa: TID252
from .doing import run
from .form import Configured, described, read

HERE = Path(__file__).parent
GROUPS = read(HERE)
DESCRIBED = described(GROUPS)
FRAMEWORKS = ("batch/job", "kubeflow.org/pytorchjob", "jobset.x-k8s.io/jobset")
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, kueue.LocalQueue, Job, *JOB_KINDS.values())
SYSTEMS = ("kueue", "jobset", "training-operator", "mpi-operator", "kuberay")
PREFIXES = prefixes(DESCRIBED, "p")
HUB = "hub"


async def run_on_ours(some: Sequence[Described] = DESCRIBED, *, is_checked: bool = True) -> Ends:
    ends: Ends = {}
    for group in GROUPS:
        if chosen := group.chosen(some):
            manager = partial(_manager, group)
            async with EmbeddedHub.open(SYSTEMS, manager, settling=8, is_checked=is_checked) as hub:
                await hub.wait(2)  # until its webhooks have their say
                ends |= await _run(hub, group, chosen)
    return ends


async def run_on_real(folder: Path) -> Ends:
    ends: Ends = {}
    async with RealFleet(folder, workers=0, ocm="none", frameworks=FRAMEWORKS) as fleet:
        shipped = await configured(fleet)
        for group in GROUPS:
            await configure(fleet, {**shipped, **group.configuration})
            async with RealHub.open(fleet.clusters[HUB], FOLLOWED, quiet=4.0, patience=180.0) as hub:
                ends |= await _run(hub, group, group.scenarios)
    return ends


def settings_of(group: Configured, frameworks: Sequence[str]) -> KueueSettings:
    whole = {
        "apiVersion": configuration.NEW,
        "kind": "Configuration",
        "integrations": {"frameworks": [*frameworks]},
        **group.configuration,
    }
    return configuration.read(yaml.safe_dump(whole))


def _manager(group: Configured, hub: InProcessCluster) -> KueueManager:
    settings = settings_of(group, FRAMEWORKS)
    install = partial(hub.server.webhooks.install, "kueue")
    return KueueManager(Cluster(HUB, hub.client()), Metrics(), settings, find=hub.server.find, install=install)


async def configured(fleet: RealFleet) -> Manifest:
    """Return how the Kueue of the hub is configured."""
    async with fleet.clusters[HUB].api() as api:
        found = await api.get(ConfigMap.resource.path(KUEUE_NAMESPACE, CONFIG_MAP))
    assert found is not None
    config: Manifest = yaml.safe_load(found["data"][CONFIG_KEY])
    return config


async def configure(fleet: RealFleet, config: Manifest) -> None:
    """Start the Kueue of the hub anew, with another configuration."""
    async with fleet.clusters[HUB].api() as api:
        text = yaml.safe_dump(config, sort_keys=False)
        await api.ensure(ConfigMap.manifest(CONFIG_MAP, KUEUE_NAMESPACE, data={CONFIG_KEY: text}))
    await fleet.kueue(fleet.clusters[HUB]).restart()


async def _run(hub: Hub, group: Configured, some: Sequence[Described]) -> Ends:
    await make_room(hub.client)
    return await run(hub, [(each, PREFIXES[each["name"]]) for each in some], is_alone=group.is_alone)


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=2400.0)

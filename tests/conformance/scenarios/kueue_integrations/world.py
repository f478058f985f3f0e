"""Scenarios of pods and of what is admitted by them, on both clusters.

Kueue is configured for more than the shipped one: for SparkApplications, behind their gate, and for a kind that
somebody else manages.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from fleetqueue.api import job_kinds
from fleetqueue.api import kueue_pods as pods
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.embedded.kueue.feature_gates import DEFAULTS
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.embedded import InProcessCluster
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.kueue import CONFIG_KEY, CONFIG_MAP, NAMESPACE, config_map_path
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics

from ..hubs import EmbeddedHub, RealHub, make_room  # noqa: TID252 - what the rooms share stands above them
from ..kueue_jobs.doing import run  # noqa: TID252
from ..running import Hub  # noqa: TID252
from ..world import Described, Ends, World, prefixes, written  # noqa: TID252
from .doing import Actor
from .end_state import end_state
from .form import EXTERNAL, KINDS, PIPELINES

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "i")
FRAMEWORKS = (
    job_kinds.BATCH_JOB.framework,
    pods.POD,
    pods.DEPLOYMENT,
    pods.STATEFUL_SET,
    pods.LEADER_WORKER_SET,
    job_kinds.TRAIN_JOB.framework,
    job_kinds.APP_WRAPPER.framework,
    job_kinds.SPARK_APPLICATION.framework,
)
GATES = {"SparkApplicationIntegration": True}
SYSTEMS = ("kueue", "leaderworkerset", "trainer", "appwrapper", "spark-operator")
FOLLOWED = (kueue.Workload, kueue.ClusterQueue, Job, *KINDS.values())


async def run_on_ours(described: Sequence[Described] = DESCRIBED, *, is_checked: bool = True) -> Ends:
    async with EmbeddedHub.open(SYSTEMS, _manager, settling=8, definitions=[PIPELINES], is_checked=is_checked) as hub:
        await hub.wait(2)  # until its webhooks have their say
        return await _run(hub, described)


async def run_on_real(folder: Path) -> Ends:
    async with RealFleet(folder, workers=0, ocm="none") as fleet:
        await _configure(fleet)
        async with RealHub.open(fleet.clusters["hub"], FOLLOWED, quiet=4.0, patience=180.0) as hub:
            return await _run(hub, DESCRIBED)


async def _configure(fleet: RealFleet) -> None:
    """Let the real Kueue know the kinds that the engine does not bring."""
    cluster = fleet.clusters["hub"]
    async with cluster.api() as api:
        definitions = [*crds("spark-operator"), PIPELINES]
        await api.ensure_all(definitions)
        await api.wait_served(definitions)
        found = await api.get(config_map_path())
        assert found is not None
        config = yaml.safe_load(found["data"][CONFIG_KEY])
        config["featureGates"] = {**(config.get("featureGates") or {}), **GATES}
        config["integrations"] = {"frameworks": [*FRAMEWORKS], "externalFrameworks": [EXTERNAL]}
        text = yaml.safe_dump(config, sort_keys=False)
        await api.ensure(ConfigMap.manifest(CONFIG_MAP, NAMESPACE, data={CONFIG_KEY: text}))
    await fleet.kueue(cluster).restart()


def _manager(hub: InProcessCluster) -> KueueManager:
    install = partial(hub.server.webhooks.install, "kueue")
    settings = KueueSettings(
        frameworks=FRAMEWORKS, external_frameworks=(EXTERNAL,), feature_gates={**DEFAULTS, **GATES}
    )
    return KueueManager(Cluster("hub", hub.client()), Metrics(), settings, find=hub.server.find, install=install)


async def _run(hub: Hub, described: Sequence[Described]) -> Ends:
    await make_room(hub.client)
    actors = [Actor(hub.client, each, PREFIXES[each["name"]]) for each in described]
    await run(hub, actors)
    return {actor.said["name"]: await end_state(hub.client, actor) for actor in actors}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=900.0)

"""The walkthroughs' environment, made once; every run begins with a copy of it, all processes just started."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial

import yaml

from fleetqueue.admin import cluster_sets
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import ConfigMap, Pod
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.embedded.apiserver.storage.interface import StorageChange, StorageEntry
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.fleets.client_certificates import ClientAuthority
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.fleets.embedded_cluster import ADMIN, CONVERTERS
from fleetqueue.fleets.embedded_environment import set_up
from fleetqueue.fleets.real_environment import CLUSTER_SET
from fleetqueue.fleets.systems.kueue import CONFIG_FILE
from fleetqueue.fleets.systems.parts import DEPLOYMENTS, create_all
from fleetqueue.manifests import objects
from fleetqueue.testing import virtual_time
from fleetqueue.testing.virtual_time import START, advance
from tests import pipelines
from tests.invariants.reasons import check_answers
from tests.invariants.strangers import Strangers
from tests.invariants.witness import WitnessedLog

from . import mixed_kinds, placed_jobs
from .faulty_server import TESTER, Faults, FaultyServer

AGENT_NAMESPACE = "open-cluster-management-agent"
LABEL = "accelerator"
T4 = "nvidia-tesla-t4"
SOON_FENCED = ("--set=fence.after=60",)
"""Many cuts are longer than that, and than all that the hub adds to it."""
SETTLED = 40.0
"""Seconds until all that follows the set-up has happened."""
See = Callable[[str, StorageChange], None]


@dataclass(frozen=True)
class ClusterTemplate:
    name: str
    entries: list[StorageEntry]
    custom: list[Served]
    secrets: Secrets
    admin_token: str
    authority: ClientAuthority

    @classmethod
    def of(cls, cluster: InProcessCluster) -> "ClusterTemplate":
        server = cluster.server
        tokens = {cluster.admin_token: ADMIN, TESTER: User("tester", (MASTERS,))}
        secrets = Secrets(signing_key=server.authentication.accounts.key, tokens=tokens)
        entries = sorted(server.storage.list("/").entries, key=lambda entry: entry.revision)
        custom = [served for served in server.resources if served.is_custom]
        return cls(cluster.name, entries, custom, secrets, cluster.admin_token, cluster.authority)

    async def copy(self, see: See) -> InProcessCluster:
        log = WitnessedLog()
        server = FaultyServer(await ClusterStorage.holding(log, self.entries), self.secrets, CONVERTERS)
        log.see = partial(see, self.name)
        server.faults = Faults()
        for served in self.custom:
            server.resources.add(served)
        cluster = InProcessCluster(self.name)
        cluster.server, cluster.admin_token = server, self.admin_token
        cluster.authority = self.authority
        return cluster


@dataclass(frozen=True)
class FleetTemplate:
    clusters: list[ClusterTemplate]
    moment: datetime
    """When it was taken, and a copy begins."""

    @asynccontextmanager
    async def copy(self, see: See) -> AsyncIterator[EmbeddedFleet]:
        """Let a copy live, and tell of every change in it; at its end every job that waits has an answer."""
        fleet = EmbeddedFleet([await cluster.copy(see) for cluster in self.clusters])
        async with fleet.living():
            yield fleet
            await check_answers(fleet.hub.client(TESTER))


@cache
def template() -> FleetTemplate:
    made = virtual_time.run(_make())
    gc.collect()
    gc.freeze()  # it stays for the whole session, and looking through it again and again takes time
    return made


async def _make() -> FleetTemplate:
    async with EmbeddedFleet.open(3) as fleet:
        await set_up(fleet.hub, fleet.workers, lambda line: None, agent_settings=SOON_FENCED)
        await create_all(fleet.hub.client(), pipelines.rights())
        for cluster in fleet.clusters.values():
            await create_all(cluster.client(), [pipelines.DEFINITION])
            await share_fairly(cluster.client(), sends_pipelines=cluster is fleet.hub)
        workers = {worker.name: worker.client() for worker in fleet.workers}
        await fill(fleet.hub.client(), [*workers.values()])
        await create_all(fleet.hub.client(), placed_jobs.of_hub())
        for name, worker in workers.items():
            await create_all(worker, placed_jobs.of_worker(name))
        await Strangers({name: cluster.client() for name, cluster in fleet.clusters.items()}).arrive()
        await advance(SETTLED)
        clusters = [ClusterTemplate.of(cluster) for cluster in fleet.clusters.values()]
        return FleetTemplate(clusters, START + timedelta(seconds=asyncio.get_running_loop().time()))


async def share_fairly(client: Client, *, sends_pipelines: bool) -> None:
    """Let Kueue share fairly, the hub's send Pipelines, too, and begin anew with that."""
    config = await client.get(ConfigMap.resource, "kueue-manager-config", KUEUE_NAMESPACE)
    wanted = yaml.safe_load(config["data"][CONFIG_FILE] + placed_jobs.SHARING)
    data = {CONFIG_FILE: yaml.safe_dump(pipelines.with_pipelines(wanted) if sends_pipelines else wanted)}
    await client.merge(ConfigMap.resource, "kueue-manager-config", KUEUE_NAMESPACE, {"data": data})
    for raw in (await client.list(Pod.resource, KUEUE_NAMESPACE)).items:
        await client.delete(Pod.resource, raw["metadata"]["name"], KUEUE_NAMESPACE)
    await advance(SETTLED)


async def fill(hub: Client, workers: list[Client]) -> None:
    """Bring what the runs are about: queues of both stories, and a Placement."""
    for name in ("cluster2", "cluster3"):
        await hub.merge(ManagedCluster.resource, name, "", {"metadata": {"labels": {LABEL: T4}}})
    await cluster_sets.bind(hub, CLUSTER_SET, "kueue-system")
    for file in ("placement-demo2-1.yaml", "multikueue-setup-demo2.yaml", "multikueue-setup-demo1.yaml"):
        await create_all(hub, objects(file))
    for client in (hub, *workers):
        await create_all(client, [mixed_kinds.training_runtime()])
    for worker in workers:
        await look_less_often(worker)


async def look_less_often(worker: Client) -> None:
    """Let the agent look at its works as often as OCM does by default: more costs most of a run's time."""
    deployment = await worker.get(DEPLOYMENTS, "klusterlet-work-agent", AGENT_NAMESPACE)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    args = [arg for arg in container["args"] if not arg.startswith("--status-sync-interval")]
    patch = {"template": {"spec": {"containers": [{**container, "args": args}]}}}
    await worker.merge(DEPLOYMENTS, "klusterlet-work-agent", AGENT_NAMESPACE, {"spec": patch})

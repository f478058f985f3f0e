"""What is on the clusters of a test's fleet when it begins.

`api`: API servers that serve the kinds of Kueue and OCM, and nothing runs. `none`: beside them Kubernetes' own
controllers, a scheduler and a node in each. `multikueue`: Kueue, OCM and fleetqueue at work, the workers joined, as
`fleetqueue up --scenario multikueue` leaves them.

The last takes seconds to make. It is made once in a process, and every test begins with a copy of it.
"""

import asyncio
import gc
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final, Literal

from fleetqueue import clock
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.fleets.client_certificates import ClientAuthority
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.fleets.embedded_cluster import ADMIN, CONVERTERS
from fleetqueue.fleets.embedded_environment import set_up
from fleetqueue.fleets.pods import kueue, operators
from fleetqueue.fleets.systems.parts import DEPLOYMENTS
from fleetqueue.lab.cluster_names import cluster_names
from fleetqueue.testing.frozen import WatchedStorage
from fleetqueue.testing.templates import elsewhere, template
from fleetqueue.testing.virtual_time import START, VirtualClock, advance

Scenario = Literal["api", "none", "multikueue"]

USUAL_SCORES: Final = ("--set=scores.publish_interval=2", "--set=scores.refresh=60", "--set=scores.validity=300")
"""The score agents look as often as on a real fleet. In the demo they look every second, so that one can watch them."""
WORK_AGENT, AGENT_NAMESPACE = "klusterlet-work-agent", "open-cluster-management-agent"
SETTLED_SECONDS: Final = 40.0
"""Until all that follows the set-up has happened."""


async def clusters_of(scenario: Scenario, workers: int) -> tuple[list[InProcessCluster], datetime]:
    """Make the clusters of a fleet, none of which lives yet; return them, and the moment at which they begin."""
    if scenario == "multikueue":
        environment = environment_template(workers)
        return [await cluster.copy() for cluster in environment.clusters], environment.moment
    return [await InProcessCluster.new(name, template().copy) for name in cluster_names(workers)], START


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
        secrets = Secrets(server.authentication.accounts.key, {cluster.admin_token: ADMIN})
        entries = sorted(server.storage.list("/").entries, key=lambda entry: entry.revision)
        custom = [served for served in server.resources if served.is_custom]
        return cls(cluster.name, entries, custom, secrets, cluster.admin_token, cluster.authority)

    async def copy(self) -> InProcessCluster:
        """Return a cluster with the same objects, in which every process is about to start again."""
        server = ApiServer(await WatchedStorage.holding(MemoryLog(), self.entries), self.secrets, CONVERTERS)
        for served in self.custom:
            server.resources.add(served)
        kueue.expect_webhooks(server)
        operators.expect_webhooks(server)
        cluster = InProcessCluster(self.name)
        cluster.server, cluster.admin_token, cluster.authority = server, self.admin_token, self.authority
        return cluster


@dataclass(frozen=True)
class EnvironmentTemplate:
    clusters: list[ClusterTemplate]
    moment: datetime
    """When it was taken, and a copy begins."""


@cache
def environment_template(workers: int) -> EnvironmentTemplate:
    with clock.use(VirtualClock()):
        made = elsewhere(_made(workers))
    gc.collect()
    gc.freeze()  # it stays as long as the process, and to look through it for garbage takes half of a test's time
    return made


async def _made(workers: int) -> EnvironmentTemplate:
    async with EmbeddedFleet.open(workers) as fleet:
        await set_up(fleet.hub, fleet.workers, lambda line: None, agent_settings=USUAL_SCORES)
        for worker in fleet.workers:
            await _look_at_works_as_usual(worker.client())
        await advance(SETTLED_SECONDS)
        clusters = [ClusterTemplate.of(cluster) for cluster in fleet.clusters.values()]
        return EnvironmentTemplate(clusters, START + timedelta(seconds=asyncio.get_running_loop().time()))


async def _look_at_works_as_usual(worker: Client) -> None:
    """Let OCM's agent look at its works as often as OCM does by default: more costs half of an idle hour."""
    deployment = await worker.get(DEPLOYMENTS, WORK_AGENT, AGENT_NAMESPACE)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    args = [arg for arg in container["args"] if not arg.startswith("--status-sync-interval")]
    patch = {"template": {"spec": {"containers": [{**container, "args": args}]}}}
    await worker.merge(DEPLOYMENTS, WORK_AGENT, AGENT_NAMESPACE, {"spec": patch})

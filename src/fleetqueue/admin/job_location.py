"""Where a job's pods are: on which worker, by which context of the user, and which of the pods there are the job's.

The user's own context is used, never the credential of MultiKueue: who reads logs must be allowed to, as themselves.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from fleetqueue.admin import inventory
from fleetqueue.admin.hub_state import seen
from fleetqueue.admin.job_ancestors import Ancestors
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection

Report = Callable[[str], None]
AGAIN_SECONDS: Final = 1.0
"""How often it is looked whether a job that waits was sent."""


class NoPods(Exception):
    """The pods of a job cannot be read; the text says why, and what to do."""


class NotSent(NoPods):
    """The job waits still."""


@dataclass(frozen=True, slots=True)
class JobLocation:
    job: str
    """`Kind/name`."""
    namespace: str
    cluster: str
    """The ManagedCluster; empty where the job is on the hub itself."""
    urls: tuple[str, ...] = ()
    """The addresses of the cluster; none where they may not be seen."""
    has_ended: bool = False

    @property
    def without_pods(self) -> str:
        """Say that there is nothing to read."""
        where = self.cluster or "the hub"
        if not self.has_ended:
            return f"{self.job} has no pods on {where} yet; --follow waits for them"
        removal = (
            " MultiKueue removes what it sent when a job ends: follow a job while it runs, or" if self.cluster else ""
        )
        return f"{self.job} has ended, and its pods on {where} are gone;{removal} look where {where} keeps old logs"

    @property
    def by_hand(self) -> str:
        """The command with which somebody who may can read a log."""
        kind, _, name = self.job.partition("/")
        return f"kubectl logs --context CONTEXT -n {self.namespace} {kind.lower()}/{name}"


async def locate(hub: Client, namespace: str, name: str) -> JobLocation:
    """Find the worker of a job; raises NotFound where there is no such job, NoPods where it is on none."""
    rows = await inventory.jobs(hub, namespace, name)
    if not rows:
        raise errors.NotFound(
            f'there is no job "{name}" in namespace {namespace}; `fleetqueue get jobs` shows those that are'
        )
    if len({row["job"] for row in rows}) > 1:
        found = ", ".join(sorted({row["job"] for row in rows}))
        raise NoPods(f'"{name}" may be one of several jobs: {found}; name it with its kind')
    row = max(rows, key=lambda one: one["created"])
    if row["state"] not in (kueue.ADMITTED, kueue.FINISHED):
        raise NotSent(f"{row['job']} has no pods: it is {row['state']}: {row['why']}")
    has_ended = row["state"] == kueue.FINISHED
    if not row["clusters"]:
        return JobLocation(row["job"], namespace, "", has_ended=has_ended)
    chosen = row["clusters"][0]
    members = {member.name: member for member in await seen(hub, cluster.ManagedCluster) or ()}
    configs = members[chosen].spec.managed_cluster_client_configs if chosen in members else ()
    return JobLocation(row["job"], namespace, chosen, tuple(config.url for config in configs), has_ended)


async def locate_once_sent(hub: Client, namespace: str, name: str, report: Report) -> JobLocation:
    """Wait until a job is on a worker, and tell once why it waits."""
    told = ""
    while True:
        try:
            return await locate(hub, namespace, name)
        except NotSent as error:
            if told != str(error):
                told = str(error)
                report(told)
            await asyncio.sleep(AGAIN_SECONDS)


def context_for(location: JobLocation, contexts: Iterable[Connection]) -> Connection:
    """Choose the user's context for a worker: one whose server is the worker's; raises NoPods where none is."""
    fitting = [one for one in contexts if one.server.rstrip("/") in {url.rstrip("/") for url in location.urls}]
    if not fitting:
        address = f" (at {', '.join(location.urls)})" if location.urls else ""
        raise NoPods(
            f"{location.job} is on {location.cluster}{address}, and no context of your kubeconfig leads there; ask the"
            f" administrator of {location.cluster} for one, and name it with --worker-context, or have somebody run:"
            f" {location.by_hand}"
        )
    return min(fitting, key=lambda one: one.name != location.cluster)


async def pods_of(worker: Client, location: JobLocation) -> list[Manifest]:
    """List the pods of a job, the oldest first, by who made them."""
    ancestors = Ancestors(worker, location.namespace)
    listed = (await worker.list(Pod.resource, location.namespace)).items
    own = [pod for pod in listed if location.job in await ancestors.of(Pod.resource.kind, pod)]
    return sorted(own, key=lambda pod: (pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"]))

"""Where a job's pods are: on which worker, and which of the pods there are the job's.

They are read with the user's own context, never with the credential of MultiKueue: who reads logs must be allowed to,
as themselves.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from fleetqueue.admin import inventory
from fleetqueue.admin.job_ancestors import Ancestors
from fleetqueue.admin.known_clusters import HUB, KnownCluster, known_clusters
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

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
    """The ManagedCluster; HUB where the job is on the hub itself."""
    has_ended: bool = False
    fleet: Mapping[str, KnownCluster] = field(default_factory=dict)
    """All clusters, also those that do not have the pods."""

    @property
    def known(self) -> KnownCluster:
        """What is known of the cluster that has the pods."""
        return self.fleet.get(self.cluster, KnownCluster())

    @property
    def without_pods(self) -> str:
        """Say that there is nothing to read."""
        where = title(self.cluster)
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


def title(cluster: str) -> str:
    return cluster or "the hub"


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
    where = row["clusters"][0] if row["clusters"] else HUB
    return JobLocation(row["job"], namespace, where, row["state"] == kueue.FINISHED, await known_clusters(hub))


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


async def pods_of(worker: Client, location: JobLocation) -> list[Manifest]:
    """List the pods of a job, the oldest first, by who made them."""
    ancestors = Ancestors(worker, location.namespace)
    listed = (await worker.list(Pod.resource, location.namespace)).items
    own = [pod for pod in listed if location.job in await ancestors.of(Pod.resource.kind, pod)]
    return sorted(own, key=lambda pod: (pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"]))

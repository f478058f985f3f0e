"""What `get jobs` tells of a job beside its state: its clusters by their plain names, its position, its times. No I/O
but `look_up`."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fleetqueue import clock
from fleetqueue.admin.hub_state import seen
from fleetqueue.admin.queue_positions import QueuePosition, queue_positions
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CLUSTER_LABEL
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.who_needs_one import clusters_of_member


@dataclass(frozen=True, slots=True)
class JobSurroundings:
    """What must be known beside a Workload."""

    members: Mapping[str, kueue.MultiKueueCluster] = field(default_factory=dict)
    """Without those that cannot be seen."""
    clusters: Collection[str] = ()
    """The names of ManagedClusters; none where they cannot be seen."""
    positions: Mapping[str, QueuePosition] = field(default_factory=dict)
    """By the keys of Workloads."""

    def plain_name(self, member: str) -> str:
        """Return the ManagedCluster that a MultiKueueCluster leads to; its own name where that is not known.

        Who may not see MultiKueueClusters knows it by their names, `<placement>-<cluster>`.
        """
        found = self.members.get(member)
        if found is not None:
            label = found.metadata.labels.get(CLUSTER_LABEL)
            return label or next(iter(clusters_of_member(found)), member)
        fitting = [name for name in self.clusters if member == name or member.endswith(f"-{name}")]
        return max(fitting, key=len, default=member)


async def look_up(hub: Client, workloads: Collection[kueue.Workload]) -> JobSurroundings:
    """Read what there is to know of these Workloads; what may not be read is not told."""
    positions, members, clusters = await asyncio.gather(
        queue_positions(hub, workloads), seen(hub, kueue.MultiKueueCluster), seen(hub, cluster.ManagedCluster)
    )
    return JobSurroundings(
        members={member.name: member for member in members or ()},
        clusters=[managed_cluster.name for managed_cluster in clusters or ()],
        positions=positions,
    )


def job_details(workload: kueue.Workload, members: Collection[str], around: JobSurroundings) -> dict[str, Any]:
    """Return the further columns of a job; `members` are the MultiKueueClusters that it is shown with."""
    position, now = around.positions.get(workload.key), clock.now()
    return {
        "clusters": list(dict.fromkeys(around.plain_name(member) for member in members)),
        "members": list(members),
        "position": position.in_cluster_queue if position else None,
        "local_position": position.in_local_queue if position else None,
        "waited_seconds": waited_seconds(workload, now),
        "ran_seconds": ran_seconds(workload, now),
        "result": result(workload),
        "workload": workload.name,
    }


def result(workload: kueue.Workload) -> str:
    """Return how a job has ended, as Kueue says it: Succeeded, Failed, or why else; empty while it has not."""
    finished = conditions.find(workload.status.conditions, kueue.FINISHED)
    return finished.reason if finished is not None and finished.is_true else ""


def waited_seconds(workload: kueue.Workload, now: datetime) -> int | None:
    """Return how long after its creation a job was admitted, or how long it waits; an eviction lets it wait on."""
    until = _since(workload, kueue.ADMITTED) or _since(workload, kueue.FINISHED) or now
    return _seconds(workload.metadata.creation_timestamp, until)


def ran_seconds(workload: kueue.Workload, now: datetime) -> int | None:
    """Return for how long a job has been admitted, up to its end; None where it is not."""
    return _seconds(_since(workload, kueue.ADMITTED), _since(workload, kueue.FINISHED) or now)


def _since(workload: kueue.Workload, kind: str) -> datetime | None:
    condition = conditions.find(workload.status.conditions, kind)
    return condition.last_transition_time if condition is not None and condition.is_true else None


def _seconds(begin: datetime | None, end: datetime) -> int | None:
    return None if begin is None else max(int((end - begin).total_seconds()), 0)

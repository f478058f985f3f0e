"""Jobs of several Workloads, such as a LeaderWorkerSet with replicas: Kueue keeps them together on one cluster.

The Workload with the lowest index is sent first. As soon as one of them has a cluster, Kueue nominates that one for
all others, whatever was nominated before, and however often they are taken back.
"""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue

OWNER_KIND: Final = "kueue.x-k8s.io/job-owner-gvk"
INDEX: Final = "kueue.x-k8s.io/component-workload-index"


def group_of(workload: kueue.Workload) -> str:
    """Return the uid of the job whose Workloads are kept together; empty where a job has one Workload only."""
    kind = workload.metadata.annotations.get(OWNER_KIND)
    if not kind or INDEX not in workload.metadata.annotations:
        return ""
    owners = workload.metadata.owner_references
    return next((owner.uid for owner in owners if _written(owner.api_version, owner.kind) == kind), "")


def cluster_of(siblings: Sequence[kueue.Workload]) -> str:
    """Return the member to which Kueue sends a Workload, whatever is nominated; empty where none of its group has one.

    Kueue itself stands still where they have several; one of them is then as good as another.
    """
    return min((w.status.cluster_name for w in siblings if w.status.cluster_name), default="")


def is_first(workload: kueue.Workload, siblings: Sequence[kueue.Workload]) -> bool:
    """Tell whether a Workload is the one for which a cluster is nominated: Kueue makes no copy of others before."""
    return all(_index(workload) <= _index(sibling) for sibling in siblings)


def _index(workload: kueue.Workload) -> int:
    text = workload.metadata.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else -1


def _written(api_version: str, kind: str) -> str:
    """Write a kind as Go does."""
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"

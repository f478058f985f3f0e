"""Elastic jobs: a job that grows while it runs has a second Workload, a slice, which takes the place of the first.

Kueue and MultiKueue read the same signs.

Mirrors: Kueue pkg/workloadslicing, pkg/workload/podsetscounts.go
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.scheme import Manifest

ELASTIC_JOB: Final = "kueue.x-k8s.io/elastic-job"
"""The annotation of elastic jobs and their Workloads; and the gate of their pods."""
REPLACES: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
"""The annotation of a slice that names the one whose place it takes."""
SLICE_NAME: Final = "kueue.x-k8s.io/workload-slice-name"
"""The annotation of slices and pods that names the first slice of them all."""
REPLACED: Final = "WorkloadSliceReplaced"
"""Why a slice has finished whose place another one took."""
RAY_GENERATION: Final = "kueue.x-k8s.io/raycluster-generation"
"""The annotation of an elastic RayJob or RayService: the generation of the RayCluster that it made."""
RAY_SIZES: Final = "kueue.x-k8s.io/raycluster-podset-replica-sizes"
"""The same: how many pods it asks for, part by part."""

Counts = Mapping[str, int]
"""How many pods there are of each set."""


def is_elastic(obj: Manifest) -> bool:
    """Tell whether a job is elastic, or a Workload is of such a job."""
    return _annotations(obj).get(ELASTIC_JOB) == "true"


def replaced_key(workload: Manifest) -> str:
    """Return the key of the slice whose place a slice takes; empty where it takes none."""
    return _annotations(workload).get(REPLACES, "")


def is_replaced(workload: Manifest) -> bool:
    """Tell whether a slice has finished since another one took its place."""
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return any((one["type"], one["status"], one["reason"]) == (kueue.FINISHED, "True", REPLACED) for one in conditions)


def slice_name(workload: Manifest) -> str:
    """Return the name that a slice shares with all before and after it: that of the first."""
    return _annotations(workload).get(SLICE_NAME) or str(workload["metadata"]["name"])


def slice_version(job: Manifest) -> str:
    """Return what tells the slices of a job apart: its generation, and that of the RayCluster that it made."""
    generation, of_cluster = job["metadata"].get("generation", 0), _annotations(job).get(RAY_GENERATION)
    return f"{generation}_{of_cluster}" if of_cluster else str(generation)


def counts(pod_sets: Iterable[Manifest]) -> Counts:
    return {pod_set["name"]: pod_set.get("count", 1) for pod_set in pod_sets}


def is_scaled_down(old: Counts, new: Counts) -> bool:
    """Tell whether a set has fewer pods than before, and none has more."""
    return _has_fewer(new, old) and not _has_fewer(old, new)


def not_finished(workloads: Iterable[Manifest]) -> list[Manifest]:
    """Return the slices that have not finished, from the oldest to the newest."""
    live = (workload for workload in workloads if not is_true(workload, kueue.FINISHED))
    return sorted(live, key=lambda raw: (raw["metadata"]["creationTimestamp"], raw["metadata"]["uid"]))


def latest_active(workloads: Iterable[Manifest]) -> Manifest | None:
    """Return the newest slice that has quota and keeps it: so many pods may run."""
    return next(filter(_keeps_quota, reversed(not_finished(workloads))), None)


def admitted_slice(workloads: Iterable[Manifest]) -> Manifest | None:
    """Return the same, if nothing else is waited for."""
    active = latest_active(workloads)
    return active if active is not None and is_true(active, kueue.ADMITTED) else None


def pods_to_release(granted: Counts, gated: Mapping[str, Sequence[str]], released: Counts) -> list[str]:
    """Return the names of the pods whose gate goes: as many as there is room for, in the order of their names."""
    return [
        name
        for pod_set, names in gated.items()
        for name in sorted(names)[: max(0, granted.get(pod_set, 0) - released.get(pod_set, 0))]
    ]


def _keeps_quota(workload: Manifest) -> bool:
    return is_true(workload, kueue.QUOTA_RESERVED) and not is_true(workload, kueue.EVICTED)


def _has_fewer(some: Counts, others: Counts) -> bool:
    return any(count < others.get(name, 0) for name, count in some.items())


def _annotations(obj: Manifest) -> Mapping[str, str]:
    return obj["metadata"].get("annotations") or {}

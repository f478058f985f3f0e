"""Which Workload stands for an elastic job as it is now, and which are over.

At most two slices are there at a time: one that has quota, and one that waits to take its place.

Mirrors: Kueue pkg/workloadslicing (EnsureWorkloadSlices, normalizeActiveSlices)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.workload_slices import REPLACED, Counts, counts, is_scaled_down, not_finished, replaced_key

OUT_OF_SYNC: Final = ("OutOfSync", "The workload slice is out of sync with its parent job")
GAVE_WAY: Final = (REPLACED, "Replaced to accommodate a new workload slice")


class FinishedSlice(NamedTuple):
    workload: Manifest
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class SlicePlan:
    current: Manifest | None
    """The slice that stands for the job; None where one is to be made."""
    resized: Counts | None = None
    """How many pods it has to ask for, where it asks for others."""
    over: Sequence[FinishedSlice] = ()


def slice_plan(pod_sets: Sequence[Manifest], workloads: Sequence[Manifest]) -> SlicePlan | None:
    """Plan for the slices of a job; None where they cannot stand for it, since its pod sets are others."""
    live = not_finished(workloads)
    if not live:
        return SlicePlan(None)
    current, over = (live[0], []) if len(live) == 1 else _chosen(live)
    if current is None:
        return SlicePlan(None, over=over)
    asked, wanted = counts(current["spec"]["podSets"]), counts(pod_sets)
    if asked.keys() != wanted.keys():
        return None
    if asked == wanted:
        return SlicePlan(current, over=over)
    if is_true(current, kueue.QUOTA_RESERVED) and not is_scaled_down(asked, wanted):
        return SlicePlan(None, over=over)
    return SlicePlan(current, wanted, over)


def _chosen(live: Sequence[Manifest]) -> tuple[Manifest | None, list[FinishedSlice]]:
    """Choose, of several slices, the one that stands for the job; all but that one and the one it replaces are over."""
    staying = [workload for workload in live if not is_true(workload, kueue.EVICTED)]
    replacements = _replacements(staying)
    reserved = [
        workload for workload in staying if _has_quota(workload) and not _has_quota(replacements.get(_key(workload)))
    ]
    holder = reserved[-1] if reserved else None
    waits = replacements.get(_key(holder)) if holder is not None else None
    current = waits or holder or (staying[-1] if staying else None)
    over = [
        FinishedSlice(workload, *(GAVE_WAY if _key(workload) in replacements else OUT_OF_SYNC))
        for workload in live
        if workload is not current and workload is not holder
    ]
    return current, over


def _replacements(staying: Sequence[Manifest]) -> dict[str, Manifest]:
    """Return who takes the place of whom; of two that would take one place, who has quota."""
    found: dict[str, Manifest] = {}
    for workload in staying:
        key = replaced_key(workload)
        if key and (key not in found or (_has_quota(workload) and not _has_quota(found[key]))):
            found[key] = workload
    return found


def _has_quota(workload: Manifest | None) -> bool:
    return workload is not None and is_true(workload, kueue.QUOTA_RESERVED)


def _key(workload: Manifest) -> str:
    return f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"

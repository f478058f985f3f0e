"""The status of a Workload as Kueue's admission writes it: all of its fields in one server-side apply.

What is left out of such a write disappears, so every write starts from what is there. These are pure functions from an
object to a new status; `api.workload_admission` makes the manifest of it that is applied.

Mirrors: Kueue pkg/workload/patching, pkg/workload/evict
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.scheme import Manifest

LONGEST: Final = 32 * 1024
"""Bytes of a condition's message."""
RESERVED: Final = "QuotaReserved"
TOPOLOGY_FIELDS: Final = ("topologyAssignment", "delayedTopologyRequest")
"""What of an admission may still change."""
WAITING: Final = "Waiting"
PODS_OF_OTHERS: Final = "waiting for all admitted workloads to be in PodsReady condition"


def admission(raw: Manifest, cluster_queue: str, given: Sequence[Manifest]) -> Manifest:
    """Return what a Workload is given; of one that holds quota only where its pods are may change."""
    status = raw.get("status") or {}
    known = status.get("admission")
    if known is None or not is_true(raw, kueue.QUOTA_RESERVED):
        return {"clusterQueue": cluster_queue, "podSetAssignments": [*given]}
    placed = {one["name"]: {field: one[field] for field in TOPOLOGY_FIELDS if field in one} for one in given}
    parts = [{**one, **placed.get(one["name"], {})} for one in known["podSetAssignments"]]
    return {**known, "podSetAssignments": parts}


def reserved(raw: Manifest, admission: Manifest, *, is_admitted: bool, now: datetime) -> Manifest:
    """Give quota; and where no check is waited for, admit."""
    status, generation = _status(raw), _generation(raw)
    status["admission"] = admission
    status.pop("unhealthyNodes", None)  # their pods were placed elsewhere
    message = f"Quota reserved in ClusterQueue {admission['clusterQueue']}"
    _set(status, kueue.QUOTA_RESERVED, conditions.TRUE, RESERVED, message, generation, now)
    for kind in (kueue.EVICTED, kueue.PREEMPTED, "BlockedOnPreemptionGates"):
        known = _find(status, kind)
        if known is not None and known["status"] == conditions.TRUE:
            _set(status, kind, conditions.FALSE, RESERVED, f"Previously: {known['message']}", generation, now)
    if is_admitted:
        _set(status, kueue.ADMITTED, conditions.TRUE, "Admitted", "The workload is admitted", generation, now)
    return status


def on_cluster_of(status: Manifest, replaced: Manifest) -> Manifest:
    """Return the status of a slice that is to run where the slice runs whose place it takes."""
    cluster = (replaced.get("status") or {}).get("clusterName")
    rest = {field: value for field, value in status.items() if field != "clusterName"}
    return {**rest, "clusterName": cluster} if cluster else rest


def pending(raw: Manifest, message: str, requests: Sequence[Manifest], now: datetime) -> Manifest | None:
    """Say why a Workload waits; None where it says so already."""
    status = _status(raw)
    status.pop("admission", None)
    status["resourceRequests"] = [*requests]
    _set(status, kueue.QUOTA_RESERVED, conditions.FALSE, kueue.PENDING, message, _generation(raw), now)
    return None if status == {"resourceRequests": [], **(raw.get("status") or {})} else status


def blocked(raw: Manifest, now: datetime) -> Manifest | None:
    """Say that a Workload waits for the pods of others; None where it says so already."""
    status = _status(raw)
    status.pop("admission", None)
    _set(status, kueue.QUOTA_RESERVED, conditions.FALSE, WAITING, PODS_OF_OTHERS, _generation(raw), now)
    return None if status == (raw.get("status") or {}) else status


def preempted(raw: Manifest, reason: str, message: str, now: datetime) -> Manifest:
    """Evict, and say for whom."""
    status = evicted(raw, kueue.PREEMPTED, message, now)
    _set(status, kueue.PREEMPTED, conditions.TRUE, reason, message, 0, now)
    return status


def evicted(raw: Manifest, reason: str, message: str, now: datetime, *, cause: str = "") -> Manifest:
    """Ask a Workload to give its quota back; `cause` is why it was deactivated, if it was."""
    status, generation = _status(raw), _generation(raw)
    full_reason = f"{reason}DueTo{cause}" if cause else reason
    _set(status, kueue.EVICTED, conditions.TRUE, full_reason, message, generation, now)
    for field in ("clusterName", "nominatedClusterNames", "unhealthyNodes"):
        status.pop(field, None)
    if status.get("admissionChecks"):
        status["admissionChecks"] = [_reset(check, now) for check in status["admissionChecks"]]
    blocked = _find(status, "BlockedOnPreemptionGates")
    if blocked is not None and blocked["status"] == conditions.TRUE:
        _set(status, "BlockedOnPreemptionGates", conditions.FALSE, full_reason, message, generation, now)
    if status.get("preemptionGates"):
        closed = {"position": "Closed", "lastTransitionTime": conditions.timestamp(now)}
        status["preemptionGates"] = [{**gate, **closed} for gate in status["preemptionGates"]]
    _count_eviction(status, reason, cause)
    return status


def is_first_eviction(status: Manifest, reason: str, cause: str = "") -> bool:
    """Tell of a status that was just evicted for a reason whether it never was before."""
    known = _known_eviction(status, reason, cause)
    return known is not None and known["count"] == 1


def with_condition(
    status: Manifest, kind: str, value: str, reason: str, message: str, generation: int, now: datetime
) -> Manifest:
    """Return a status with one condition set; its date stays while its status stays the same."""
    changed = {**status}
    _set(changed, kind, value, reason, message, generation, now)
    return changed


def _set(status: Manifest, kind: str, value: str, reason: str, message: str, generation: int, now: datetime) -> None:
    known = _find(status, kind)
    is_same = known is not None and known["status"] == value
    since = known["lastTransitionTime"] if is_same and known is not None else conditions.timestamp(now)
    wanted = {"type": kind, "status": value, "reason": reason, "message": _cut(message), "lastTransitionTime": since}
    if generation:
        wanted["observedGeneration"] = generation
    others = status.get("conditions") or []
    if known is None:
        status["conditions"] = [*others, wanted]
    else:
        status["conditions"] = [wanted if condition["type"] == kind else condition for condition in others]


def _reset(check: Manifest, now: datetime) -> Manifest:
    if check["state"] == kueue.PENDING:
        return check
    fresh = {
        "name": check["name"],
        "state": kueue.PENDING,
        "message": f"Reset to Pending after eviction. Previously: {check['state']}",
        "lastTransitionTime": conditions.timestamp(now),
    }
    if check.get("requeueAfterSeconds") is not None:
        fresh["requeueAfterSeconds"] = check["requeueAfterSeconds"]
    if check["state"] == kueue.RETRY:
        fresh["retryCount"] = (check.get("retryCount") or 0) + 1
    return fresh


def _count_eviction(status: Manifest, reason: str, cause: str) -> None:
    stats, known = _evictions(status), _known_eviction(status, reason, cause)
    if known is None:
        stats = [*stats, {"reason": reason, "underlyingCause": cause, "count": 1}]
    else:
        stats = [{**eviction, "count": eviction["count"] + 1} if eviction is known else eviction for eviction in stats]
    status["schedulingStats"] = {"evictions": stats}


def _evictions(status: Manifest) -> Sequence[Manifest]:
    return (status.get("schedulingStats") or {}).get("evictions") or []


def _known_eviction(status: Manifest, reason: str, cause: str) -> Manifest | None:
    same = (
        eviction
        for eviction in _evictions(status)
        if (eviction["reason"], eviction.get("underlyingCause", "")) == (reason, cause)
    )
    return next(same, None)


def _status(raw: Manifest) -> Manifest:
    """Copy the status, but not what is in it: what is cached is never changed, only replaced."""
    return {**(raw.get("status") or {})}


def _generation(raw: Mapping[str, Manifest]) -> int:
    return int(raw["metadata"].get("generation") or 0)


def _find(status: Manifest, kind: str) -> Manifest | None:
    return next((condition for condition in status.get("conditions") or () if condition["type"] == kind), None)


def _cut(message: str) -> str:
    return message if len(message) <= LONGEST else message[: LONGEST - 4] + " ..."

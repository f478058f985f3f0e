"""The part of a Workload's status that Kueue's admission writes: all of it in one server-side apply.

What is left out of such an apply disappears, so whoever writes a part of it sends the rest as it was.
"""

from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import precondition_of
from fleetqueue.api.scheme import Manifest

CONDITIONS: Final = (
    kueue.QUOTA_RESERVED,
    "BlockedOnPreemptionGates",
    kueue.EVICTED,
    kueue.ADMITTED,
    kueue.PREEMPTED,
    kueue.REQUEUED,
    "DeactivationTarget",
    kueue.FINISHED,
    "PodsReady",
)
"""What admission writes, in its order."""
FIELDS: Final = (
    "admission",
    "accumulatedPastExecutionTimeSeconds",
    "schedulingStats",
    "clusterName",
    "nominatedClusterNames",
    "unhealthyNodes",
    "preemptionGates",
    "admissionChecks",
)


def applied(raw: Manifest, status: Manifest) -> Manifest:
    """Return what is applied to give a Workload a new status, as far as it is admission's."""
    written = {field: status[field] for field in FIELDS if status.get(field) is not None}
    if status.get("requeueState"):
        written["requeueState"] = status["requeueState"]
    if "admission" not in written and status.get("resourceRequests"):
        written["resourceRequests"] = status["resourceRequests"]
    by_type = {condition["type"]: condition for condition in status.get("conditions") or ()}
    written["conditions"] = [by_type[kind] for kind in CONDITIONS if kind in by_type]
    metadata = raw["metadata"]
    manifest = kueue.Workload.manifest(metadata["name"], metadata["namespace"], status=written)
    manifest["metadata"]["uid"] = metadata["uid"]
    return manifest


def applied_over(raw: Manifest, status: Manifest) -> Manifest:
    """Return the same with the version that was seen: who was quicker makes it a Conflict."""
    manifest = applied(raw, status)
    manifest["metadata"] |= precondition_of(raw["metadata"])
    return manifest


def patch(raw: Manifest, **changes: object) -> Manifest:
    """Return the apply over what was seen that changes fields of a status; None takes a field away."""
    return applied_over(raw, {**(raw.get("status") or {}), **changes})


def with_check(raw: Manifest, name: str, **fields: object) -> list[Manifest]:
    """Return the checks of a Workload, one of them changed."""
    checks = (raw.get("status") or {}).get("admissionChecks") or ()
    return [{**check, **fields} if check["name"] == name else check for check in checks]


def with_condition(raw: Manifest, condition: Manifest) -> list[Manifest]:
    """Return the conditions of a Workload, one of them added or replaced."""
    known = (raw.get("status") or {}).get("conditions") or ()
    others = [other for other in known if other["type"] != condition["type"]]
    return [*others, condition]

"""What a job's controller says in the status of its Workload: it has ended, it has stopped, its pods are ready."""

from datetime import datetime

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import FALSE, TRUE, Condition
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import messages, names
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.embedded.kueue.workload_state import admitted_or_not

COMES_BACK = ("Preempted", "NodeFailures")
"""Evictions after which a Workload queues again at once."""


def finished(workload: Manifest, reason: str, message: str, now: datetime) -> Manifest:
    """Return the status of a Workload whose job has ended."""
    status, generation = workload.get("status") or {}, workload["metadata"].get("generation", 0)
    return admission_status.with_condition(status, kueue.FINISHED, TRUE, reason, message, generation, now)


def released(workload: Manifest, evicted: Condition, now: datetime) -> Manifest:
    """Return the status of an evicted Workload that gives its quota back, since nothing of its job runs any more."""
    generation = workload["metadata"].get("generation", 0)
    comes_back = TRUE if evicted.reason in COMES_BACK else FALSE
    said = {
        kueue.REQUEUED: (comes_back, evicted.reason),
        kueue.QUOTA_RESERVED: (FALSE, kueue.PENDING),
    }
    status = {field: value for field, value in workload["status"].items() if field != "admission"}
    for kind, (value, reason) in said.items():
        status = admission_status.with_condition(status, kind, value, reason, evicted.message, generation, now)
    return admitted_or_not(status, generation, now)


def readiness(workload: kueue.Workload, are_ready: bool) -> Condition | None:
    """Return what a Workload shall say of its pods; None where it says so already."""
    told = conditions.find(workload.status.conditions, names.PODS_READY)
    wanted = _readiness(workload, told, are_ready)
    is_told = told is not None and (told.status, told.reason) == (wanted.status, wanted.reason)
    return None if is_told else wanted


def _readiness(workload: kueue.Workload, told: Condition | None, are_ready: bool) -> Condition:
    waits = Condition.false(names.PODS_READY, names.WAIT_FOR_START, messages.NOT_READY)
    if not workload.is_true(kueue.ADMITTED):
        return waits
    recovers = told is not None and (told.is_true or told.reason == names.WAIT_FOR_RECOVERY)
    if are_ready:
        had_failed = told is not None and told.reason in (names.WAIT_FOR_RECOVERY, "Recovered")
        return Condition.true(names.PODS_READY, "Recovered" if had_failed else "Started", messages.ALL_READY)
    return Condition.false(names.PODS_READY, names.WAIT_FOR_RECOVERY, messages.RECOVERING) if recovers else waits

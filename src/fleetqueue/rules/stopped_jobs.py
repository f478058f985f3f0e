"""The last status of a Job that Kueue has stopped on the hub, when no cluster tells it any more."""

from datetime import datetime

from fleetqueue.api.batch_v1 import COMPLETE, FAILED, SUSPENDED
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.conditions import TRUE, timestamp
from fleetqueue.api.scheme import Manifest


def has_ended(job: Manifest) -> bool:
    return any(is_true(job, kind) for kind in (COMPLETE, FAILED))


def last_status(job: Manifest, now: datetime) -> Manifest:
    """Return the status that a stopped Job should have; what it has where that is right, or it is not stopped.

    Nobody else writes it: the Job controller leaves a Job alone that MultiKueue manages. Kueue waits until nothing is
    active, and Kubernetes 1.36 lets a Job that was started be changed only when it says that it is suspended.
    """
    status: Manifest = job.get("status") or {}
    if not job["spec"].get("suspend") or has_ended(job):
        return status
    if not status.get("active") and (not status.get("startTime") or is_true(job, SUSPENDED)):
        return status
    stopped = {**status, "active": 0, "ready": 0, "terminating": 0}
    return suspended(stopped, "JobSuspended", "Kueue has stopped this Job, and no cluster tells how it is", now)


def suspended(status: Manifest, reason: str, message: str, now: datetime) -> Manifest:
    """Return a status that says that its Job is suspended."""
    moment = timestamp(now)
    condition = {
        "type": SUSPENDED,
        "status": TRUE,
        "reason": reason,
        "message": message,
        "lastProbeTime": moment,
        "lastTransitionTime": moment,
    }
    others = [other for other in status.get("conditions") or () if other["type"] != SUSPENDED]
    return {**status, "conditions": [*others, condition]}

"""What happens to a Workload beside its scheduling: one rule after the other, the first that has something to do wins.

Every write wakes the controller again, so that a later rule gets its turn then. No I/O.

Mirrors: Kueue pkg/controller/core/workload_controller.go (Reconcile)
Left out: the devices that pods claim (dynamic resource allocation), and preemption gates.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import FALSE, TRUE
from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import messages
from fleetqueue.embedded.kueue import names as n
from fleetqueue.embedded.kueue.cases import Case, Step, admitted_or_not, is_true
from fleetqueue.embedded.kueue.deadlines import deadlines
from fleetqueue.embedded.kueue.required_checks import required, synced

Rule = Callable[[Case], Step | None]


def decide(case: Case) -> Step:
    """Return what is to be done about a Workload now."""
    return next((step for rule in RULES if (step := rule(case)) is not None), Step())


def _orphan(case: Case) -> Step | None:
    view = case.view
    if view.metadata.owner_references or not (view.is_deleting or view.metadata.labels.get(kueue.JOB_UID_LABEL)):
        return None
    if not view.is_deleting and not view.is_finished:
        message = "The workload's owner no longer exists"
        return Step(status=case.with_condition(kueue.FINISHED, TRUE, "OwnerNotFound", message))
    if n.IN_USE in view.metadata.finalizers:
        return Step(releases=True)
    return Step() if view.is_deleting else None


def _finished(case: Case) -> Step | None:
    if not case.says(kueue.FINISHED):
        return None
    keep = case.settings.keep_finished
    if keep is None or case.view.is_deleting:
        return Step()
    left = keep - case.since(kueue.FINISHED).total_seconds()
    if left > 0:
        return Step(again_in=left)
    return Step(deletes=True, releases=True, says=[(NORMAL, "Deleted", messages.RETENTION)])


def _retry_time(case: Case) -> Step | None:
    """Note until when the checks that ask for another try want to wait."""
    until = max(
        (when for check in case.status.get("admissionChecks") or () if (when := _retry_at(check))), default=None
    )
    if until is None or until <= case.now:
        return None
    known = case.view.status.requeue_state.requeue_at
    if known is not None and known >= until:
        return None
    state = {**(case.status.get("requeueState") or {}), "requeueAt": conditions.timestamp(until)}
    return Step(status={**case.status, "requeueState": state})


def _deactivation(case: Case) -> Step | None:
    if case.view.spec.active and case.says(n.DEACTIVATION_TARGET):
        return Step(deactivates=True)
    return None


def _back_off(case: Case) -> Step | None:
    until = case.view.status.requeue_state.requeue_at
    if not case.view.spec.active or until is None:
        return None
    left = (until - case.now).total_seconds()
    if left > 0:
        return Step(again_in=left)
    if case.has_quota or case.is_admitted:
        return None
    return Step(status=_without_requeue_time(case.status))


def _requeued(case: Case) -> Step | None:
    """Let those queue again who were held out and may come back."""
    told = case.condition(kueue.REQUEUED)
    if not case.view.spec.active or told is None or told.status != FALSE:
        return None
    if told.reason == n.DEACTIVATED:
        return case.requeued("Reactivated", "The workload was reactivated")
    if told.reason in (n.PODS_READY_TIMEOUT, n.ADMISSION_CHECK):
        return case.requeued("BackoffFinished", "The workload backoff was finished")
    return None


def _deactivated(case: Case) -> Step | None:
    if case.view.spec.active:
        return None
    told = case.condition(n.DEACTIVATION_TARGET)
    rest = {field: value for field, value in case.status.items() if field != "requeueState"}
    if told is not None:
        rest["conditions"] = [each for each in rest["conditions"] if each["type"] != n.DEACTIVATION_TARGET]
    if not case.is_evicted:
        message = f"{messages.DEACTIVATED} due to {told.message}" if told is not None else messages.DEACTIVATED
        return case.evict(n.DEACTIVATED, message, cause=told.reason if told is not None else "", status=rest)
    return Step(status=rest) if "requeueState" in case.status else None


def _local_queue_restarted(case: Case) -> Step | None:
    runs = case.queues.local_queue is not None and case.queue_stop == "None"
    if runs and _is_held(case, n.LOCAL_QUEUE_STOPPED):
        return case.requeued("LocalQueueRestarted", "The LocalQueue was restarted after being stopped")
    return None


def _gate(case: Case) -> Step | None:
    gate = case.view.metadata.annotations.get(kueue.ADMISSION_GATED_BY, "")
    told = case.condition(kueue.QUOTA_RESERVED)
    is_told = told is not None and told.reason == n.GATED
    if bool(gate) == is_told:
        return None
    if gate:
        step, reason = case.without_quota(n.GATED, messages.gated(gate)), n.GATED
        note = f"Workload admission is gated by: {gate}"
    else:
        step = case.without_quota(kueue.PENDING, "AdmissionGatedBy cleared, waiting for quota reservation")
        reason, note = "AdmissionGateCleared", "Admission gate cleared, workload is now admissible"
    return Step(status=step.status if step is not None else None, says=[(NORMAL, reason, note)])


def _cluster_queue_restarted(case: Case) -> Step | None:
    queue = case.queues.cluster_queue
    if queue is not None and queue.spec.stop_policy == "None" and _is_held(case, n.CLUSTER_QUEUE_STOPPED):
        return case.requeued("ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped")
    return None


def _checks(case: Case) -> Step | None:
    if case.queues.cluster_queue is None:
        return None
    wanted = required(case.queues.cluster_queue, case.view.status.admission)
    found = case.status.get("admissionChecks") or []
    checks = synced(found, wanted, case.now)
    return None if checks is None else Step(checks=checks)


def _admission_state(case: Case) -> Step | None:
    if case.is_admitted:
        return None
    status = case.status
    blocker = _blocker(case) if not case.has_quota else ""
    if blocker:
        status = case.with_condition(kueue.QUOTA_RESERVED, FALSE, n.INADMISSIBLE, blocker)
    status = admitted_or_not(status, case.generation, case.now)
    if status == case.status:
        return None
    said = {each["type"]: each for each in status["conditions"]}
    if not is_true(said, kueue.ADMITTED) or case.view.status.admission is None:
        return Step(status=status)
    waited = case.since(kueue.QUOTA_RESERVED).total_seconds()
    note = messages.admitted(case.view.status.admission.cluster_queue, waited)
    return Step(status=status, says=[(NORMAL, kueue.ADMITTED, note)], admits=True)


def _failed_checks(case: Case) -> Step | None:
    checks = case.view.status.admission_checks
    if not case.has_quota or case.is_evicted:
        return None
    if rejected := [check for check in checks if check.state == kueue.REJECTED]:
        message = messages.checks(rejected, kueue.REJECTED)
        status = case.with_condition(n.DEACTIVATION_TARGET, TRUE, n.ADMISSION_CHECK, message)
        return Step(status=status, says=[(WARNING, "AdmissionCheckRejected", f"Deactivated due to {message}")])
    if retried := [check for check in checks if check.state == kueue.RETRY]:
        return case.evict(n.ADMISSION_CHECK, f"Evicted due to {messages.checks(retried, kueue.RETRY)}")
    return None


def _local_queue_state(case: Case) -> Step | None:
    queue, name = case.queues.local_queue, case.view.spec.queue_name
    if not case.has_quota:
        return None
    if case.is_admitted:
        drains = case.queue_stop == "HoldAndDrain" and not case.is_evicted
        return case.evict(n.LOCAL_QUEUE_STOPPED, "The LocalQueue is stopped") if drains else None
    if queue is None or queue.is_deleting:
        return case.without_quota(n.INADMISSIBLE, f"LocalQueue {name} is terminating or missing")
    if case.queue_stop != "None":
        return case.without_quota(n.INADMISSIBLE, f"LocalQueue {name} is stopped")
    return None


def _cluster_queue_state(case: Case) -> Step | None:
    queue, local = case.queues.cluster_queue, case.queues.local_queue
    if not case.has_quota:
        return None
    stop = queue.spec.stop_policy if queue is not None else "None"
    if case.is_admitted:
        drains = stop == "HoldAndDrain" and not case.is_evicted
        return case.evict(n.CLUSTER_QUEUE_STOPPED, "The ClusterQueue is stopped") if drains else None
    name = local.spec.cluster_queue if local is not None else ""
    if queue is None or queue.is_deleting:
        return case.without_quota(n.INADMISSIBLE, f"ClusterQueue {name} is terminating or missing")
    if stop != "None":
        return case.without_quota(n.INADMISSIBLE, f"ClusterQueue {name} is stopped")
    return None


RULES: tuple[Rule, ...] = (
    _orphan,
    _finished,
    _retry_time,
    _deactivation,
    _back_off,
    _requeued,
    _deactivated,
    _local_queue_restarted,
    _gate,
    _cluster_queue_restarted,
    _checks,
    _admission_state,
    _failed_checks,
    _local_queue_state,
    _cluster_queue_state,
    deadlines,
)


# What the rules ask


def _blocker(case: Case) -> str:
    """Say what of its queues keeps it from being admitted."""
    queue, name = case.queues.local_queue, case.view.spec.queue_name
    if queue is None:
        return f"LocalQueue {name} doesn't exist"
    if case.queue_stop != "None":
        return f"LocalQueue {name} is inactive"
    target = queue.spec.cluster_queue
    if case.queues.cluster_queue is None:
        return f"ClusterQueue {target} doesn't exist"
    return "" if case.queues.is_open else f"ClusterQueue {target} is inactive"


def _is_held(case: Case, reason: str) -> bool:
    told = case.condition(kueue.REQUEUED)
    return told is not None and told.status == FALSE and told.reason == reason


def _retry_at(check: Manifest) -> datetime | None:
    after, since = check.get("requeueAfterSeconds"), check.get("lastTransitionTime")
    if check["state"] != kueue.RETRY or after is None or not since:
        return None
    return datetime.fromisoformat(since) + timedelta(seconds=after)


def _without_requeue_time(status: Manifest) -> Manifest:
    state = {k: v for k, v in status["requeueState"].items() if k != "requeueAt"}
    return {**status, "requeueState": state}

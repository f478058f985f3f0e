"""What happens to a Workload beside its scheduling: one rule after the other, the first that has something to do wins.

Every write wakes the controller again, so that a later rule gets its turn then. No I/O.

Mirrors: Kueue pkg/controller/core/workload_controller.go (Reconcile)
Left out: the devices that pods claim (dynamic resource allocation), and preemption gates.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import condition_status
from fleetqueue.api.conditions import FALSE, TRUE, timestamp
from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import messages
from fleetqueue.embedded.kueue import names as n
from fleetqueue.embedded.kueue.scheduling.readiness import required_checks
from fleetqueue.embedded.kueue.workload_state import WorkloadState, WorkloadStep, admitted_or_not
from fleetqueue.embedded.kueue.workload_timeouts import deadlines

Rule = Callable[[WorkloadState], WorkloadStep | None]


def decide(state: WorkloadState) -> WorkloadStep:
    """Return what is to be done about a Workload now."""
    return next((step for rule in RULES if (step := rule(state)) is not None), WorkloadStep())


def _orphan(state: WorkloadState) -> WorkloadStep | None:
    view = state.view
    if view.metadata.owner_references or not (view.is_deleting or view.metadata.labels.get(kueue.JOB_UID_LABEL)):
        return None
    if not view.is_deleting and not view.is_finished:
        message = "The workload's owner no longer exists"
        return WorkloadStep(status=state.with_condition(kueue.FINISHED, TRUE, "OwnerNotFound", message))
    if n.IN_USE in view.metadata.finalizers:
        return WorkloadStep(releases=True)
    return WorkloadStep() if view.is_deleting else None


def _finished(state: WorkloadState) -> WorkloadStep | None:
    if not state.is_true(kueue.FINISHED):
        return None
    keep = state.settings.keep_finished
    if keep is None or state.view.is_deleting:
        return WorkloadStep()
    left = keep - state.since(kueue.FINISHED).total_seconds()
    if left > 0:
        return WorkloadStep(again_in=left)
    return WorkloadStep(deletes=True, releases=True, events=[(NORMAL, "Deleted", messages.RETENTION)])


def _retry_time(state: WorkloadState) -> WorkloadStep | None:
    """Note until when the checks that ask for another try want to wait."""
    until = max(
        (when for check in state.status.get("admissionChecks") or () if (when := _retry_at(check))), default=None
    )
    if until is None or until <= state.now:
        return None
    known = state.view.status.requeue_state.requeue_at
    if known is not None and known >= until:
        return None
    requeue = {**(state.status.get("requeueState") or {}), "requeueAt": conditions.timestamp(until)}
    return WorkloadStep(status={**state.status, "requeueState": requeue})


def _deactivation(state: WorkloadState) -> WorkloadStep | None:
    if state.view.spec.active and state.is_true(n.DEACTIVATION_TARGET):
        return WorkloadStep(deactivates=True)
    return None


def _back_off(state: WorkloadState) -> WorkloadStep | None:
    until = state.view.status.requeue_state.requeue_at
    if not state.view.spec.active or until is None:
        return None
    left = (until - state.now).total_seconds()
    if left > 0:
        return WorkloadStep(again_in=left)
    if state.has_quota or state.is_admitted:
        return None
    return WorkloadStep(status=_without_requeue_time(state.status))


def _requeued(state: WorkloadState) -> WorkloadStep | None:
    """Let those queue again who were held out and may come back."""
    condition = state.condition(kueue.REQUEUED)
    if not state.view.spec.active or condition is None or condition.status != FALSE:
        return None
    if condition.reason == n.DEACTIVATED:
        return state.requeued("Reactivated", "The workload was reactivated")
    if condition.reason in (n.PODS_READY_TIMEOUT, n.ADMISSION_CHECK):
        return state.requeued("BackoffFinished", "The workload backoff was finished")
    return None


def _deactivated(state: WorkloadState) -> WorkloadStep | None:
    if state.view.spec.active:
        return None
    deactivation = state.condition(n.DEACTIVATION_TARGET)
    rest = {field: value for field, value in state.status.items() if field != "requeueState"}
    if deactivation is not None:
        rest["conditions"] = [
            condition for condition in rest["conditions"] if condition["type"] != n.DEACTIVATION_TARGET
        ]
    if not state.is_evicted:
        message = (
            f"{messages.DEACTIVATED} due to {deactivation.message}"
            if deactivation is not None
            else messages.DEACTIVATED
        )
        return state.evict(
            n.DEACTIVATED, message, cause=deactivation.reason if deactivation is not None else "", status=rest
        )
    return WorkloadStep(status=rest) if "requeueState" in state.status else None


def _local_queue_restarted(state: WorkloadState) -> WorkloadStep | None:
    runs = state.queues.local_queue is not None and state.queue_stop == "None"
    if runs and _is_held(state, n.LOCAL_QUEUE_STOPPED):
        return state.requeued("LocalQueueRestarted", "The LocalQueue was restarted after being stopped")
    return None


def _gate(state: WorkloadState) -> WorkloadStep | None:
    gate = state.view.metadata.annotations.get(kueue.ADMISSION_GATED_BY, "")
    condition = state.condition(kueue.QUOTA_RESERVED)
    is_told = condition is not None and condition.reason == n.GATED
    if bool(gate) == is_told:
        return None
    if gate:
        step, reason = state.without_quota(n.GATED, messages.gated(gate)), n.GATED
        note = f"Workload admission is gated by: {gate}"
    else:
        step = state.without_quota(kueue.PENDING, "AdmissionGatedBy cleared, waiting for quota reservation")
        reason, note = "AdmissionGateCleared", "Admission gate cleared, workload is now admissible"
    return WorkloadStep(status=step.status if step is not None else None, events=[(NORMAL, reason, note)])


def _cluster_queue_restarted(state: WorkloadState) -> WorkloadStep | None:
    queue = state.queues.cluster_queue
    if queue is not None and queue.spec.stop_policy == "None" and _is_held(state, n.CLUSTER_QUEUE_STOPPED):
        return state.requeued("ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped")
    return None


def _checks(state: WorkloadState) -> WorkloadStep | None:
    if state.queues.cluster_queue is None:
        return None
    wanted = required_check_names(state.queues.cluster_queue, state.view.status.admission)
    current_checks = state.status.get("admissionChecks") or []
    checks = synced_checks(current_checks, wanted, state.now)
    return None if checks is None else WorkloadStep(checks=checks)


def _admission_state(state: WorkloadState) -> WorkloadStep | None:
    if state.is_admitted:
        return None
    status = state.status
    blocker = _blocker(state) if not state.has_quota else ""
    if blocker:
        status = state.with_condition(kueue.QUOTA_RESERVED, FALSE, n.INADMISSIBLE, blocker)
    status = admitted_or_not(status, state.generation, state.now)
    if status == state.status:
        return None
    if condition_status(status, kueue.ADMITTED) != TRUE or state.view.status.admission is None:
        return WorkloadStep(status=status)
    waited = state.since(kueue.QUOTA_RESERVED).total_seconds()
    note = messages.admitted(state.view.status.admission.cluster_queue, waited)
    return WorkloadStep(status=status, events=[(NORMAL, kueue.ADMITTED, note)], admits=True)


def _failed_checks(state: WorkloadState) -> WorkloadStep | None:
    checks = state.view.status.admission_checks
    if not state.has_quota or state.is_evicted:
        return None
    if rejected := [check for check in checks if check.state == kueue.REJECTED]:
        message = messages.checks(rejected, kueue.REJECTED)
        status = state.with_condition(n.DEACTIVATION_TARGET, TRUE, n.ADMISSION_CHECK, message)
        return WorkloadStep(
            status=status, events=[(WARNING, "AdmissionCheckRejected", f"Deactivated due to {message}")]
        )
    if retried := [check for check in checks if check.state == kueue.RETRY]:
        return state.evict(n.ADMISSION_CHECK, f"Evicted due to {messages.checks(retried, kueue.RETRY)}")
    return None


def _local_queue_state(state: WorkloadState) -> WorkloadStep | None:
    queue, name = state.queues.local_queue, state.view.spec.queue_name
    if not state.has_quota:
        return None
    if state.is_admitted:
        drains = state.queue_stop == "HoldAndDrain" and not state.is_evicted
        return state.evict(n.LOCAL_QUEUE_STOPPED, "The LocalQueue is stopped") if drains else None
    if queue is None or queue.is_deleting:
        return state.without_quota(n.INADMISSIBLE, f"LocalQueue {name} is terminating or missing")
    if state.queue_stop != "None":
        return state.without_quota(n.INADMISSIBLE, f"LocalQueue {name} is stopped")
    return None


def _cluster_queue_state(state: WorkloadState) -> WorkloadStep | None:
    queue, local = state.queues.cluster_queue, state.queues.local_queue
    if not state.has_quota:
        return None
    stop = queue.spec.stop_policy if queue is not None else "None"
    if state.is_admitted:
        drains = stop == "HoldAndDrain" and not state.is_evicted
        return state.evict(n.CLUSTER_QUEUE_STOPPED, "The ClusterQueue is stopped") if drains else None
    name = local.spec.cluster_queue if local is not None else ""
    if queue is None or queue.is_deleting:
        return state.without_quota(n.INADMISSIBLE, f"ClusterQueue {name} is terminating or missing")
    if stop != "None":
        return state.without_quota(n.INADMISSIBLE, f"ClusterQueue {name} is stopped")
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


def _blocker(state: WorkloadState) -> str:
    """Say what of its queues keeps it from being admitted."""
    queue, name = state.queues.local_queue, state.view.spec.queue_name
    if queue is None:
        return f"LocalQueue {name} doesn't exist"
    if state.queue_stop != "None":
        return f"LocalQueue {name} is inactive"
    target = queue.spec.cluster_queue
    if state.queues.cluster_queue is None:
        return f"ClusterQueue {target} doesn't exist"
    return "" if state.queues.is_open else f"ClusterQueue {target} is inactive"


def _is_held(state: WorkloadState, reason: str) -> bool:
    condition = state.condition(kueue.REQUEUED)
    return condition is not None and condition.status == FALSE and condition.reason == reason


def _retry_at(check: Manifest) -> datetime | None:
    after, since = check.get("requeueAfterSeconds"), check.get("lastTransitionTime")
    if check["state"] != kueue.RETRY or after is None or not since:
        return None
    return datetime.fromisoformat(since) + timedelta(seconds=after)


def _without_requeue_time(status: Manifest) -> Manifest:
    state = {k: v for k, v in status["requeueState"].items() if k != "requeueAt"}
    return {**status, "requeueState": state}


def required_check_names(queue: kueue.ClusterQueue, admission: kueue.Admission | None) -> list[str]:
    """Return the checks for the flavors that were given; before that, those that every flavor asks for."""
    if admission is not None:
        given = {flavor for part in admission.pod_set_assignments for flavor in part.flavors.values()}
        return required_checks(queue, given)
    everywhere = set(queue.flavors)
    listed = queue.spec.admission_checks_strategy.admission_checks
    return sorted(check.name for check in listed if not check.on_flavors or everywhere <= set(check.on_flavors))


def synced_checks(found: Sequence[Manifest], wanted: Sequence[str], now: datetime) -> list[Manifest] | None:
    """Return what a Workload shall say of its checks; None where it does so already."""
    known = {check["name"]: check for check in found}
    if set(known) == set(wanted):
        return None
    fresh = {"state": kueue.PENDING, "lastTransitionTime": timestamp(now), "message": ""}
    return [known.get(name) or {"name": name, **fresh} for name in sorted(wanted)]

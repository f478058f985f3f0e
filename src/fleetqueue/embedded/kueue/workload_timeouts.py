"""What takes too long: pods that do not become ready, and Workloads that run longer than they may.

Mirrors: Kueue pkg/controller/core/workload_controller.go (reconcileNotReadyTimeout, reconcileMaxExecutionTime),
pkg/util/wait/backoff.go
"""

from datetime import datetime, timedelta
from typing import Final

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import TRUE
from fleetqueue.api.events_v1 import WARNING
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names as n
from fleetqueue.embedded.kueue.settings import PodsReadySettings
from fleetqueue.embedded.kueue.workload_state import WorkloadState, WorkloadStep

MOST_DOUBLINGS: Final = 64
"""More of them exceed any limit, and would some time exceed what a float holds."""
LONGEST: Final = (2**63 - 1) / 2e9
"""The longest back-off that Go can write, in seconds."""
JITTER: Final = 0.0001
"""By how much of itself a back-off is longer, at most."""


def deadlines(state: WorkloadState) -> WorkloadStep | None:
    """Act on what took too long, or come back when the first deadline has passed."""
    if not state.has_quota:
        return None
    ready, execution = _pods_ready_deadline(state), _execution_deadline(state)
    if ready is not None and ready <= 0:
        return _pods_not_ready(state)
    if execution is not None and execution <= 0:
        return _ran_too_long(state)
    left = [seconds for seconds in (ready, execution) if seconds is not None]
    return WorkloadStep(again_in=min(left)) if left else None


def _pods_ready_deadline(state: WorkloadState) -> float | None:
    """Return how many seconds its pods still have to become ready."""
    settings, condition = state.settings.pods_ready, state.condition(n.PODS_READY)
    if settings is None or not state.is_admitted or state.is_evicted or not state.view.spec.active:
        return None
    if condition is not None and condition.is_true:
        return None
    if condition is None or condition.reason != n.WAIT_FOR_RECOVERY:
        return settings.timeout - state.since(kueue.ADMITTED).total_seconds()
    if settings.recovery_timeout is None:
        return None
    return settings.recovery_timeout - state.since(n.PODS_READY).total_seconds()


def _pods_not_ready(state: WorkloadState) -> WorkloadStep:
    settings, condition = state.settings.pods_ready, state.condition(n.PODS_READY)
    assert settings is not None
    tries = (state.view.status.requeue_state.count or 0) + 1
    if settings.limit is not None and tries > settings.limit:
        return _target(state, "RequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries")
    requeue: Manifest = {"count": tries, "requeueAt": conditions.timestamp(_requeue_time(state, settings, tries))}
    cause = condition.reason if condition is not None and condition.reason == n.WAIT_FOR_RECOVERY else n.WAIT_FOR_START
    message = f"Exceeded the PodsReady timeout {state.view.key}"
    return state.evict(n.PODS_READY_TIMEOUT, message, cause=cause, status={**state.status, "requeueState": requeue})


def _execution_deadline(state: WorkloadState) -> float | None:
    """Return how many seconds it may still run."""
    longest = state.raw["spec"].get("maximumExecutionTimeSeconds")
    if longest is None or not state.is_admitted or state.is_true(n.DEACTIVATION_TARGET):
        return None
    past = state.status.get("accumulatedPastExecutionTimeSeconds") or 0
    return float(longest - past) - state.since(kueue.ADMITTED).total_seconds()


def _ran_too_long(state: WorkloadState) -> WorkloadStep:
    longest = state.raw["spec"]["maximumExecutionTimeSeconds"]
    step = _target(state, "MaximumExecutionTimeExceeded", "exceeding the maximum execution time")
    assert step.status is not None
    status = {k: v for k, v in step.status.items() if k != "accumulatedPastExecutionTimeSeconds"}
    note = f"The maximum execution time ({longest}s) exceeded"
    return WorkloadStep(status=status, events=[(WARNING, "MaximumExecutionTimeExceeded", note)])


def _target(state: WorkloadState, reason: str, message: str) -> WorkloadStep:
    return WorkloadStep(status=state.with_condition(n.DEACTIVATION_TARGET, TRUE, reason, message))


def _requeue_time(state: WorkloadState, settings: PodsReadySettings, tries: int) -> datetime:
    """Return when it may queue again; a check may have asked for a later time."""
    seconds = _back_off_of(settings, tries) * (1 + JITTER * state.draw())
    until, asked = state.now + timedelta(seconds=seconds), state.view.status.requeue_state.requeue_at
    return until if asked is None else max(until, asked)


def _back_off_of(settings: PodsReadySettings, tries: int) -> float:
    """Return the seconds of a back-off: twice the last up to a limit, which the first may exceed; 0 is no limit."""
    seconds = settings.first_back_off * 2.0 ** min(tries - 1, MOST_DOUBLINGS)
    return min(seconds, settings.last_back_off or LONGEST) if tries > 1 else settings.first_back_off

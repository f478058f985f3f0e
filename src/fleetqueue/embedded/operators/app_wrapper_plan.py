"""What becomes of an AppWrapper next: its phase, and what it says of itself. No I/O.

Mirrors: appwrapper internal/controller/appwrapper/appwrapper_controller.go
Left out: exit codes that forbid or allow another try, and what is known of unhealthy nodes.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from fleetqueue.api.condition_lists import condition_status, is_true
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.job_kinds import APP_WRAPPER
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.app_wrapper_components import first_statuses, has_failed
from fleetqueue.embedded.operators.app_wrapper_status import (
    DELETING,
    DEPLOYED,
    FAILED,
    QUOTA,
    READY,
    RESETTING,
    RESUMING,
    RUNNING,
    SUCCEEDED,
    SUSPENDED,
    SUSPENDING,
    TERMINATING,
    UNHEALTHY,
    WrapperPlan,
    patience,
)

SOON, LOOK_AGAIN, NOW_AND_THEN = 1.0, 5.0, 60.0
"""Seconds until it is looked at again: what could not be made, what is not ready, and what runs."""

REFUSED = "ComponentCreationErrored"


class Seen(NamedTuple):
    """What is there of an AppWrapper that runs."""

    components: Sequence[Manifest | None]
    """None where one is not there."""
    pods: Sequence[Pod]


# Phases in which nothing is asked


def begun(wrapper: Manifest, now: datetime) -> WrapperPlan:
    plan = WrapperPlan(wrapper, now)
    plan.status["componentStatus"] = first_statuses(wrapper)
    plan.go(SUSPENDED)
    return plan


def resumed(wrapper: Manifest, now: datetime) -> WrapperPlan:
    plan = WrapperPlan(wrapper, now)
    for kind, status in ((QUOTA, TRUE), (DEPLOYED, TRUE), (READY, FALSE), (UNHEALTHY, FALSE)):
        plan.tell(kind, status, RESUMING, "Suspend is false")
    plan.go(RESUMING)
    return plan


def suspending(wrapper: Manifest, now: datetime) -> WrapperPlan:
    plan = WrapperPlan(wrapper, now)
    note = f"Externally suspended while in the {plan.status['phase']} phase"
    plan.says.append(("ExternallySuspended", SUSPENDING, note))
    plan.go(SUSPENDING)
    return plan


# Making components


def unmade(wrapper: Manifest) -> list[int]:
    """Return the components that are not there, or not for certain."""
    return [number for number, status in enumerate(_components(wrapper)) if condition_status(status, DEPLOYED) != TRUE]


def begins_to_make(wrapper: Manifest, now: datetime) -> WrapperPlan | None:
    """Return what is written before components are made: then it is known what may be there; None where it is."""
    plan = WrapperPlan(wrapper, now)
    for number in unmade(wrapper):
        if _was_refused(_components(wrapper)[number]):
            continue
        wrapped = wrapper["spec"]["components"][number]["template"]
        fields = {
            "name": (wrapped.get("metadata") or {}).get("name", ""),
            "kind": wrapped["kind"],
            "apiVersion": wrapped["apiVersion"],
        }
        plan.tell_of_component(number, UNKNOWN, "ComponentCreationInitiated", **fields)
    return plan if plan.status != wrapper["status"] else None


def made(
    wrapper: Manifest,
    names: Mapping[int, str],
    problem: str,
    now: datetime,
    *,
    refused: int | None = None,
    is_fatal: bool = False,
) -> WrapperPlan:
    """Return what follows from an attempt to make components: their names, and why it did not go on.

    A component that was `refused` is not there for certain; of any other problem that is not known.
    """
    plan = WrapperPlan(wrapper, now)
    for number, name in names.items():
        plan.tell_of_component(number, TRUE, "ComponentCreatedSuccessfully", name=name)
    if refused is not None:
        plan.tell_of_component(refused, FALSE, REFUSED)
    if not problem:
        plan.go(RUNNING)
    elif not is_fatal and plan.left(DEPLOYED, "admissionGracePeriodDuration") > 0:
        plan.again_in = SOON
    else:
        plan.complain("CreateFailed", f"error creating components: {problem}")
        if is_fatal:
            plan.go(FAILED)
        else:
            plan.try_again_or_fail()
    return plan


# Running


def running(wrapper: Manifest, seen: Seen, now: datetime) -> WrapperPlan:
    plan = WrapperPlan(wrapper, now)
    there = [one for one in seen.components if one is not None and "deletionTimestamp" not in one["metadata"]]
    failed = sum(map(has_failed, there))
    if len(there) != len(seen.components):
        found = f"Only found {len(there)} deployed components, but was expecting {len(seen.components)}"
        plan.complain("MissingComponent", found)
        plan.go(FAILED)
    elif failed:
        plan.complain("FailedComponent", f"Found {failed} failed components")
        plan.try_again_or_fail()
    else:
        _judge_pods(plan, seen.pods)
    return plan


def _judge_pods(plan: WrapperPlan, pods: Sequence[Pod]) -> None:
    counts = Counter(pod.status.phase for pod in pods if not (pod.status.phase == "Running" and pod.is_deleting))
    pending, runs, done, failed = (counts[phase] for phase in ("Pending", "Running", "Succeeded", "Failed"))
    expected = sum(one.get("replicas", 1) for status in _components(plan.wrapper) for one in status["podSets"])
    if done >= expected and not pending + runs + failed:
        message = f"{done} pods succeeded and no running, pending, or failed pods"
        plan.tell(QUOTA, FALSE, SUCCEEDED, message)
        plan.tell(DEPLOYED, TRUE, SUCCEEDED, message)
        plan.go(SUCCEEDED)
    elif failed:
        plan.tell(UNHEALTHY, TRUE, "FoundFailedPods")
        _wait_or_give_up(
            plan, plan.left(UNHEALTHY, "failureGracePeriodDuration"), "FoundFailedPods", f"{failed} failed pods"
        )
    else:
        plan.end(UNHEALTHY, "FoundNoFailedPods")
        if runs + done >= expected:
            plan.tell(READY, TRUE, "SufficientPodsReady", f"{runs} pods running; {done} pods succeeded")
            plan.again_in = NOW_AND_THEN
            return
        details = f"{pending} pods pending; {runs} pods running; {done} pods succeeded"
        plan.end(READY, "InsufficientPodsReady", details)
        are_made = pending + runs + done >= expected
        period = "warmupGracePeriodDuration" if are_made else "admissionGracePeriodDuration"
        if plan.left(DEPLOYED, period) > 0:
            plan.again_in = LOOK_AGAIN
        else:
            plan.complain("InsufficientPodsReady", details)
            plan.try_again_or_fail()


def _wait_or_give_up(plan: WrapperPlan, left: float, reason: str, note: str) -> None:
    if left > 0:
        plan.again_in = min(left, LOOK_AGAIN)
        return
    plan.says.append((reason, UNHEALTHY, note))
    plan.try_again_or_fail()


# Taking components away


def waits_to_delete(wrapper: Manifest, now: datetime) -> WrapperPlan | None:
    """Return what is said, and how long is waited, before the components of what has ended go; None where they go."""
    plan, phase = WrapperPlan(wrapper, now), wrapper["status"]["phase"]
    if phase == SUCCEEDED:
        left = plan.left(DEPLOYED, "successTTLDuration")
    elif phase == FAILED and not APP_WRAPPER.is_suspended(wrapper):
        seconds = patience(wrapper, "deletionOnFailureGracePeriodDuration")
        if not seconds:
            return None
        plan.tell(DELETING, FALSE, "DeletionPaused", f"the components stay for {seconds:g} s")
        left = plan.left(DELETING, "deletionOnFailureGracePeriodDuration")
    else:
        return None
    plan.again_in = left
    return plan if left > 0 else None


def unmade_after(wrapper: Manifest, gone: Collection[int], pods_left: int, now: datetime) -> WrapperPlan:
    """Return what follows from an attempt to delete components: those that are gone, and how many pods are left."""
    plan = WrapperPlan(wrapper, now)
    plan.tell(DELETING, TRUE, "DeletionInitiated")
    for number in gone:
        plan.tell_of_component(number, FALSE, "ComponentDeleted")
    if len(gone) < len(_components(wrapper)) or pods_left:
        plan.again_in = LOOK_AGAIN
        return plan
    plan.end(DELETING, "DeletionComplete")
    _gone(plan, plan.status["phase"])
    return plan


def forces(wrapper: Manifest, now: datetime) -> bool:
    """Tell whether what does not go by itself has had its time."""
    plan = WrapperPlan(wrapper, now)
    return is_true(wrapper, DELETING) and plan.left(DELETING, "forcefulDeletionGracePeriodDuration") <= 0


def reset(wrapper: Manifest, now: datetime) -> WrapperPlan:
    """Return what follows when nothing is left of what failed: a pause, and another try."""
    plan = WrapperPlan(wrapper, now)
    left = plan.left(UNHEALTHY, "retryPausePeriodDuration")
    if left > 0:
        plan.again_in = left
    else:
        plan.tell(DEPLOYED, TRUE, RESUMING, "Reset complete; resuming")
        plan.go(RESUMING)
    return plan


def _gone(plan: WrapperPlan, phase: str) -> None:
    why = {
        SUSPENDING: (SUSPENDED, "Suspend is true"),
        RESETTING: (RESETTING, "Resources deleted for resetting AppWrapper"),
        FAILED: (FAILED, "Resources deleted for failed AppWrapper"),
        SUCCEEDED: (SUCCEEDED, "Time to live after success expired"),
        TERMINATING: (TERMINATING, "Resources successfully deleted"),
    }
    reason, message = why[phase]
    plan.tell(DEPLOYED, FALSE, reason, message)
    if phase in (SUSPENDING, RESETTING):
        plan.end(READY, reason)
    if phase == SUSPENDING:
        plan.end(UNHEALTHY, reason)
        plan.go(SUSPENDED)
    if phase not in (RESETTING, SUCCEEDED):
        plan.tell(QUOTA, FALSE, reason, message if phase == SUSPENDING else "No resources deployed")


def _was_refused(status: Manifest) -> bool:
    return any(one["reason"] == REFUSED for one in status.get("conditions") or () if one["type"] == DEPLOYED)


def _components(wrapper: Manifest) -> list[Manifest]:
    statuses: list[Manifest] = wrapper["status"].get("componentStatus") or []
    return statuses

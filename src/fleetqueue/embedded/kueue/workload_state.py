"""A Workload with all that decides about it, and the steps that can be taken."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import condition_status
from fleetqueue.api.conditions import FALSE, TRUE, Condition, find
from fleetqueue.api.events_v1 import NORMAL
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names as n
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.embedded.kueue.scheduling.workload_info import ON_HOLD
from fleetqueue.embedded.kueue.settings import KueueSettings


@dataclass(frozen=True, slots=True)
class Queues:
    """What a Workload depends on."""

    local_queue: kueue.LocalQueue | None
    cluster_queue: kueue.ClusterQueue | None
    is_open: bool = True
    """Whether the ClusterQueue can admit."""


class Eviction(NamedTuple):
    reason: str
    cause: str = ""


@dataclass(frozen=True, slots=True)
class WorkloadStep:
    """What is to be done now; all empty is nothing."""

    status: Manifest | None = None
    """Applied as admission's own fields."""
    checks: Sequence[Manifest] | None = None
    """All admission checks that it shall have."""
    deactivates: bool = False
    releases: bool = False
    """Whether the finalizer goes."""
    deletes: bool = False
    events: Sequence[tuple[str, str, str]] = ()
    """Kind, reason and note of each."""
    eviction: Eviction | None = None
    admits: bool = False
    again_in: float | None = None
    """Seconds after which to look again."""


@dataclass(frozen=True)
class WorkloadState:
    """One Workload, and all that decides about it."""

    raw: Manifest
    view: kueue.Workload
    queues: Queues
    settings: KueueSettings
    now: datetime
    draw: Callable[[], float] = lambda: 0.0
    """Draws a number between 0 and 1."""

    @cached_property
    def status(self) -> Manifest:
        status: Manifest = self.raw.get("status") or {}
        return status

    @cached_property
    def _conditions(self) -> dict[str, Condition]:
        return {condition.type: condition for condition in self.view.status.conditions}

    def condition(self, kind: str) -> Condition | None:
        return self._conditions.get(kind)

    def is_true(self, kind: str) -> bool:
        """Tell whether a condition is true."""
        condition = self._conditions.get(kind)
        return condition is not None and condition.is_true

    def since(self, kind: str) -> timedelta:
        """Return for how long a condition has been as it is."""
        condition = self.condition(kind)
        began = condition.last_transition_time if condition is not None else None
        return self.now - began if began is not None else timedelta()

    @cached_property
    def has_quota(self) -> bool:
        return self.is_true(kueue.QUOTA_RESERVED)

    @cached_property
    def is_admitted(self) -> bool:
        return self.is_true(kueue.ADMITTED)

    @cached_property
    def is_evicted(self) -> bool:
        return self.is_true(kueue.EVICTED)

    @property
    def generation(self) -> int:
        return self.view.metadata.generation

    @property
    def queue_stop(self) -> str:
        return self.queues.local_queue.spec.stop_policy if self.queues.local_queue is not None else "None"

    def with_condition(self, kind: str, value: str, reason: str, message: str) -> Manifest:
        return admission_status.with_condition(self.status, kind, value, reason, message, self.generation, self.now)

    def requeued(self, reason: str, message: str) -> WorkloadStep:
        """Let it queue again."""
        return WorkloadStep(status=self.with_condition(kueue.REQUEUED, TRUE, reason, message))

    def evict(self, reason: str, message: str, *, cause: str = "", status: Manifest | None = None) -> WorkloadStep:
        """Ask it to give its quota back."""
        raw = self.raw if status is None else {**self.raw, "status": status}
        deactivated = reason == n.DEACTIVATED
        changed = _evicted(raw, reason, message, self.now, cause=cause, is_shown=deactivated)
        event_reason = f"EvictedDueTo{reason}" + (f"DueTo{cause}" if cause and deactivated else "")
        events = [(NORMAL, event_reason, message)] if self.view.status.admission is not None else []
        return WorkloadStep(status=changed, events=events, eviction=Eviction(reason, cause))

    def without_quota(self, reason: str, message: str) -> WorkloadStep | None:
        """Take its quota, and say why."""
        status = self.with_condition(kueue.QUOTA_RESERVED, FALSE, reason, message)
        status.pop("admission", None)
        status = admitted_or_not(status, self.generation, self.now)
        return None if status == self.status else WorkloadStep(status=status)


def admitted_or_not(status: Manifest, generation: int, now: datetime) -> Manifest:
    """Return a status that says rightly whether its Workload is admitted; one that never was does not speak of it."""
    has_quota = condition_status(status, kueue.QUOTA_RESERVED) == TRUE
    has_checks = all(check["state"] == kueue.READY for check in status.get("admissionChecks") or ())
    has_topology = not _waits_for_topology(status)
    was_admitted = condition_status(status, kueue.ADMITTED) == TRUE
    if was_admitted == (has_quota and has_checks and has_topology):
        return status
    if was_admitted:
        [admitted] = [condition for condition in status["conditions"] if condition["type"] == kueue.ADMITTED]
        since = datetime.fromisoformat(admitted["lastTransitionTime"])
        past = (status.get("accumulatedPastExecutionTimeSeconds") or 0) + int((now - since).total_seconds())
        status = {**status, "accumulatedPastExecutionTimeSeconds": past}
    value, reason, message = _admission(has_quota, has_checks, has_topology)
    return admission_status.with_condition(status, kueue.ADMITTED, value, reason, message, generation, now)


def _evicted(raw: Manifest, reason: str, message: str, now: datetime, *, cause: str, is_shown: bool) -> Manifest:
    """Return the status of an evicted one; only of a deactivated one the condition names the cause."""
    status = admission_status.evicted(raw, reason, message, now, cause=cause)
    if cause and not is_shown:
        for condition in status["conditions"]:
            if condition["type"] == kueue.EVICTED:
                condition["reason"] = reason
    return status


def _waits_for_topology(status: Manifest) -> bool:
    """Tell whether the pods of a Workload that holds quota are still to be placed."""
    given = (status.get("admission") or {}).get("podSetAssignments") or ()
    pending = (one for one in given if one.get("delayedTopologyRequest") == kueue.PENDING)
    return any("topologyAssignment" not in one for one in pending)


def _admission(has_quota: bool, has_checks: bool, has_topology: bool) -> tuple[str, str, str]:
    if has_quota and has_checks:
        if not has_topology:
            return FALSE, "PendingDelayedTopologyRequests", "There are pending delayed topology requests"
        return TRUE, "Admitted", "The workload is admitted"
    if has_quota:
        return FALSE, "UnsatisfiedChecks", "The workload has not all checks ready"
    if has_checks:
        return FALSE, "NoReservation", "The workload has no reservation"
    reason = "NoReservationUnsatisfiedChecks"
    return FALSE, reason, "The workload has no reservation and not all checks ready"


def is_on_hold(workload: kueue.Workload) -> bool:
    """Tell whether a Workload is not queued because its job cannot run."""
    reserved = find(workload.status.conditions, kueue.QUOTA_RESERVED)
    return reserved is not None and not reserved.is_true and reserved.reason == ON_HOLD


def facts(view: kueue.QueuedWorkload) -> tuple[Any, ...]:
    """Return what Kueue's controllers look at: all but to which cluster MultiKueue is about to send it."""
    metadata, status = view.metadata, view.status
    asked = metadata.generation, metadata.deletion_timestamp, metadata.labels, metadata.annotations
    kept = metadata.finalizers, metadata.owner_references
    reported = (
        status.conditions,
        status.admission,
        status.admission_checks,
        status.requeue_state,
        status.reclaimable_pods,
        status.unhealthy_nodes,
    )
    return asked, kept, reported

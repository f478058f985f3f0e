"""What a Job's status says after a look at its pods.

Counting a pod takes three steps, so that a crash between them neither loses nor repeats one: its uid is noted as
uncounted; its finalizer is removed; the note becomes a number. The Job is over when no note and no pod is left.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fleetqueue.api.batch_v1 import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    Job,
)
from fleetqueue.api.conditions import Condition, timestamp
from fleetqueue.api.core_v1 import SUCCEEDED, Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes import job_indexes, job_policies
from fleetqueue.embedded.kubernetes.job_tally import JobPodCounts, is_failed, is_tracked

MOST_UNCOUNTED: Final = 500
REACHED: Final = ("CompletionsReached", "Reached expected number of succeeded pods")
UNCOUNTED: Final = "uncountedTerminatedPods"


@dataclass(frozen=True, slots=True)
class Numbers:
    active: int
    ready: int
    terminating: int


def noted(
    job: Job,
    live: Manifest,
    pods: Sequence[Pod],
    counted: JobPodCounts,
    numbers: Numbers,
    end: Condition | None,
    now: datetime,
) -> tuple[Manifest, list[Pod]]:
    """Return the status with the newly ended pods noted, and the pods whose finalizer may then go."""
    status = {**live, "ready": numbers.ready, "terminating": numbers.terminating, **_times(job, live, now)}
    status["active"] = numbers.active
    uids = {pod.uid for pod in pods if is_tracked(pod)}
    status = settled(status, uids)
    uncounted = status[UNCOUNTED]
    succeeded, failed = list(uncounted.get("succeeded", ())), list(uncounted.get("failed", ()))
    may_go: list[Pod] = []
    for pod in pods:
        if not is_tracked(pod) or not _may_go(job, pod, counted, end):
            continue
        may_go.append(pod)
        if pod.status.phase == SUCCEEDED and pod.uid not in failed:
            if not job.is_indexed and pod.uid not in succeeded:
                succeeded.append(pod.uid)
        elif _counts_as_failed(job, pod, end) and pod.uid not in failed:
            failed.append(pod.uid)
        if len(succeeded) + len(failed) >= MOST_UNCOUNTED:
            break
    status[UNCOUNTED] = _given(succeeded=succeeded, failed=failed)
    if job.is_indexed:
        status |= {"succeeded": len(counted.indexes), "completedIndexes": job_indexes.render(counted.indexes)}
    if job.counts_by_index:
        status["failedIndexes"] = job_indexes.render(counted.failed_indexes)
    if end is not None:
        status["conditions"] = with_condition(status.get("conditions") or [], end, now)
    return tidy(status), may_go


def settled(status: Manifest, with_finalizer: Set[str]) -> Manifest:
    """Return the status with every noted pod counted whose finalizer is gone."""
    notes = status.get(UNCOUNTED) or {}
    after = {**status, UNCOUNTED: {}}
    for field in ("succeeded", "failed"):
        before = notes.get(field) or []
        left = [uid for uid in before if uid in with_finalizer]
        after[field] = (status.get(field) or 0) + len(before) - len(left)
        if left:
            after[UNCOUNTED] = {**after[UNCOUNTED], field: left}
    return tidy(after)


def finished(status: Manifest, end: Condition, now: datetime) -> Manifest | None:
    """Return the status of a Job that is over; None while a note or a pod is left."""
    if any((status.get(UNCOUNTED) or {}).values()) or status.get("terminating"):
        return None
    is_success = end.type == SUCCESS_CRITERIA_MET
    last = Condition.true(COMPLETE if is_success else FAILED, end.reason, end.message)
    after = {**status, "conditions": with_condition(status.get("conditions") or [], last, now)}
    return {**after, "completionTime": timestamp(now)} if is_success else after


def suspension(job: Job, live: Manifest, now: datetime) -> Manifest | None:
    """Return the status of a Job that is suspended or resumed now; None where its status says so already.

    Time spent suspended does not count as active: the start is forgotten, and set anew.
    """
    previous = next((c for c in live.get("conditions") or () if c["type"] == SUSPENDED), None)
    if job.spec.suspend:
        condition = Condition.true(SUSPENDED, "JobSuspended", "Job suspended")
    else:
        condition = Condition.false(SUSPENDED, "JobResumed", "Job resumed")
        if previous is None:
            return None
    if previous is not None and previous["status"] == condition.status:
        return None
    status = {**live, "conditions": with_condition(live.get("conditions") or [], condition, now)}
    status.pop("startTime", None)
    return status if job.spec.suspend else {**status, "startTime": timestamp(now)}


def with_condition(conditions: Sequence[Manifest], condition: Condition, now: datetime) -> list[Manifest]:
    """Return the conditions with one of them said; it keeps its times where it says what it said."""
    content = {field: getattr(condition, field) for field in ("type", "status", "reason", "message")}
    previous = next((c for c in conditions if c["type"] == condition.type), None)
    if previous is not None and all(previous.get(field) == value for field, value in content.items()):
        return list(conditions)
    moment = timestamp(now)
    new = {**content, "lastProbeTime": moment, "lastTransitionTime": moment}
    return [new if c["type"] == condition.type else c for c in conditions] if previous else [*conditions, new]


def tidy(status: Manifest) -> Manifest:
    """Leave out the numbers and texts that Kubernetes leaves out where they are empty."""
    empty = ("active", "succeeded", "failed", "completedIndexes")
    return {field: value for field, value in status.items() if value or field not in empty}


def _times(job: Job, live: Manifest, now: datetime) -> Manifest:
    return {} if live.get("startTime") or job.spec.suspend else {"startTime": timestamp(now)}


def _may_go(job: Job, pod: Pod, counted: JobPodCounts, end: Condition | None) -> bool:
    if job.is_deleting or end is not None or pod.status.phase == SUCCEEDED:
        return True
    return is_failed(job, pod) and pod not in counted.kept.values()


def _counts_as_failed(job: Job, pod: Pod, end: Condition | None) -> bool:
    """Tell whether a pod that goes counts as failed: all that are left, where the Job fails."""
    is_lost = is_failed(job, pod) or (end is not None and end.type == FAILURE_TARGET)
    return is_lost and job_indexes.valid_index(pod, job) and job_policies.counts(job, pod)


def _given(**lists: list[Any]) -> Manifest:
    return {field: value for field, value in lists.items() if value}

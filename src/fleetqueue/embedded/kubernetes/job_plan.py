"""Decide which pods a Job needs: how many, with which indexes, which of those that run are too many, and when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fleetqueue.api.batch_v1 import CONTROLLER_UID, INDEX, JOB_NAME, TRACKING, Job
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes import job_indexes
from fleetqueue.embedded.kubernetes.job_tally import Failures, JobPodCounts, ending, next_failures, seconds_to_deadline
from fleetqueue.embedded.kubernetes.pods import from_template, prefix_of, removal_cost, room_to_wait

MOST_AT_ONCE: Final = 500
"""Pods that one look creates or deletes, so that a large Job does not keep the others waiting."""

NONE: Final = Failures()


@dataclass(frozen=True, slots=True)
class JobPlan:
    ending: Condition | None = None
    delete: Sequence[Pod] = ()
    is_counted: bool = True
    """Whether what is deleted counts as failed: not where the Job is suspended or made smaller."""
    create: Sequence[int | None] = ()
    """One pod for each, with its index in an Indexed Job."""
    failures: Failures = NONE
    look_again: float | None = None
    """Seconds until something is due without any change."""


def decide(job: Job, pods: Sequence[Pod], counted: JobPodCounts, before: Failures, now: datetime) -> JobPlan:
    """Choose what to do with a Job's pods. No I/O: every branch is one row of a test table."""
    failures = next_failures(before, counted)
    deadline = seconds_to_deadline(job, now)
    end = ending(job, pods, counted, now)
    if end is not None:
        return JobPlan(end, delete=counted.active, failures=failures)
    if job.is_deleting:
        return JobPlan(failures=failures)
    if job.spec.suspend:
        return JobPlan(delete=_cheapest(counted.active, len(counted.active)), is_counted=False, failures=failures)
    wanted = wanted_active(job, counted)
    surplus = _surplus(job, counted.active, wanted)[:MOST_AT_ONCE]
    if surplus:
        return JobPlan(delete=surplus, is_counted=False, failures=failures, look_again=deadline)
    missing = wanted - len(counted.active)
    if job.replaces_only_failed:
        missing -= len(counted.terminating)
    create, pause = _to_create(job, counted, min(missing, MOST_AT_ONCE, room_to_wait(counted.active)), failures, now)
    waits = [seconds for seconds in (pause, deadline) if seconds is not None]
    return JobPlan(create=create, failures=failures, look_again=min(waits, default=None))


def wanted_active(job: Job, counted: JobPodCounts) -> int:
    """Return how many pods are to run."""
    if job.completions is None:
        return len(counted.active) if counted.succeeded else job.parallelism
    return max(0, min(job.completions - counted.succeeded, job.parallelism))


def pod_of(job: Job, index: int | None, suffix: str, replaced: Pod | None = None) -> Manifest:
    """Build one pod of a Job; where each index has its own limit, in place of one that failed."""
    template = job.spec.template
    prefix = prefix_of(job.name, "-" if index is None else f"-{index}-")
    pod = from_template(job, template, prefix + suffix, prefix)
    metadata = pod["metadata"]
    metadata["finalizers"] = [*(f for f in metadata.get("finalizers", ()) if f != TRACKING), TRACKING]
    if not job.spec.manual_selector:
        names = {CONTROLLER_UID: job.uid, JOB_NAME: job.name, "controller-uid": job.uid, "job-name": job.name}
        metadata["labels"] = {**names, **metadata.get("labels", {})}
    if index is not None:
        notes = job_indexes.annotations(job, replaced)
        metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(index), **notes}
        metadata["labels"] = {**metadata.get("labels", {}), INDEX: str(index)}
        pod["spec"] = {**_with_index(pod["spec"]), "hostname": f"{job.name}-{index}"}
    return pod


def _surplus(job: Job, active: Sequence[Pod], wanted: int) -> list[Pod]:
    """Return the pods that are too many: without a place or twice on one, then the cheapest."""
    misplaced: list[Pod] = []
    kept: dict[Any, Pod] = {}
    for pod in sorted(active, key=removal_cost, reverse=True):
        place = job_indexes.index_of(pod) if job.is_indexed else pod.uid
        if place in kept or not job_indexes.valid_index(pod, job):
            misplaced.append(pod)
        else:
            kept[place] = pod
    return [*misplaced, *_cheapest(list(kept.values()), len(active) - wanted - len(misplaced))]


def _cheapest(pods: Sequence[Pod], count: int) -> list[Pod]:
    return sorted(pods, key=removal_cost)[: max(count, 0)]


def _to_create(
    job: Job, counted: JobPodCounts, count: int, failures: Failures, now: datetime
) -> tuple[Sequence[int | None], float | None]:
    """Return which pods are made now, one for each index, and after how many seconds others are."""
    if count <= 0:
        return (), None
    indexes = _pending_indexes(job, counted, count) if job.is_indexed else (None,) * count
    if not job.counts_by_index:
        pause = failures.seconds_left(now)
        return ((), pause) if pause > 0 else (indexes, None)
    waits = {index: Failures.of_index(counted.kept.get(index or 0)).seconds_left(now) for index in indexes}
    pauses = [seconds for seconds in waits.values() if seconds > 0]
    return [index for index, seconds in waits.items() if seconds <= 0], min(pauses, default=None)


def _pending_indexes(job: Job, counted: JobPodCounts, count: int) -> Sequence[int | None]:
    held = [*counted.active, *(counted.terminating if job.replaces_only_failed else ())]
    taken = counted.indexes | counted.failed_indexes
    taken |= {index for pod in held if (index := job_indexes.index_of(pod)) is not None}
    return job_indexes.first_pending(taken, job.completions or 0, count)


def _with_index(spec: Manifest) -> Manifest:
    """Return a pod's spec whose containers have their index as a variable."""
    parts = ("initContainers", "containers")
    return {**spec, **{part: [_told(one) for one in spec[part]] for part in parts if spec.get(part)}}


def _told(container: Manifest) -> Manifest:
    env = container.get("env") or []
    if any(entry.get("name") == "JOB_COMPLETION_INDEX" for entry in env):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*env, {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}]}

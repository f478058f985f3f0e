"""Count a Job's pods: who runs, who has ended since the last count, and whether the Job is over.

A pod that still has the tracking finalizer and is not listed as uncounted was never counted; one without it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from fleetqueue.api.batch_v1 import FAILURE_TARGET, SUCCESS_CRITERIA_MET, TRACKING, Job
from fleetqueue.api.conditions import Condition, find
from fleetqueue.api.core_v1 import SUCCEEDED, Pod
from fleetqueue.embedded.kubernetes import job_indexes, job_policies
from fleetqueue.embedded.kubernetes.pods import ended_at, restarts

FIRST_BACKOFF: Final = 10.0
"""Seconds until a failed pod is replaced; twice as long with each further failure in a row."""
LAST_BACKOFF: Final = 600.0
TOO_MANY_INDEXES: Final = "Job has exceeded the specified maximal number of failed indexes"


@dataclass(frozen=True, slots=True)
class Failures:
    """How many pods of a Job have failed since one succeeded, and when the last one did."""

    count: int = 0
    last: datetime | None = None

    @classmethod
    def of_index(cls, last: Pod | None) -> "Failures":
        """Return those of one index, by its last failed pod."""
        return cls() if last is None else cls(job_indexes.count_of(last) + 1, ended_at(last))

    def seconds_left(self, now: datetime) -> float:
        """Return for how long no pod is to be made yet."""
        if not self.count or self.last is None:
            return 0.0
        pause: float = min(FIRST_BACKOFF * 2 ** min(self.count - 1, 10), LAST_BACKOFF)
        return max(0.0, pause - (now - self.last).total_seconds())


@dataclass(frozen=True, slots=True)
class JobPodCounts:
    active: Sequence[Pod]
    terminating: Sequence[Pod]
    new_succeeded: Sequence[Pod]
    new_failed: Sequence[Pod]
    succeeded: int
    failed: int
    indexes: frozenset[int]
    """Of an Indexed Job, those that have succeeded."""
    failed_indexes: frozenset[int] = frozenset()
    """Those that are given up, where each has its own limit."""
    kept: Mapping[int, Pod] = field(default_factory=dict)
    """There, the last failed pod of each index that waits for its next one."""

    @property
    def ready(self) -> int:
        return sum(pod.is_ready for pod in self.active)


def is_failed(job: Job, pod: Pod) -> bool:
    """Tell whether a pod counts as failed; one that is deleted may never get to say so itself."""
    if pod.status.phase == "Failed":
        return True
    return pod.is_deleting and pod.status.phase != SUCCEEDED and not job.replaces_only_failed


def is_tracked(pod: Pod) -> bool:
    return TRACKING in pod.metadata.finalizers


def tally(job: Job, pods: Sequence[Pod]) -> JobPodCounts:
    uncounted = job.status.uncounted_terminated_pods
    fresh = [pod for pod in pods if is_tracked(pod) and job_indexes.valid_index(pod, job)]
    succeeded = [pod for pod in fresh if pod.status.phase == SUCCEEDED and pod.uid not in uncounted.succeeded]
    all_failed = [pod for pod in fresh if is_failed(job, pod)]
    failed = [pod for pod in all_failed if pod.uid not in uncounted.failed]
    active = [pod for pod in pods if pod.is_active]
    indexes = _succeeded_indexes(job, fresh) if job.is_indexed else frozenset()
    given_up = job_indexes.failed_indexes(job, all_failed)
    total = job.status.succeeded + len(succeeded) + len(uncounted.succeeded)
    counted = sum(job_policies.counts(job, pod) for pod in failed)
    return JobPodCounts(
        active=active,
        terminating=[pod for pod in pods if pod.is_terminating],
        new_succeeded=succeeded,
        new_failed=failed,
        succeeded=len(indexes) if job.is_indexed else total,
        failed=job.status.failed + counted + len(uncounted.failed),
        indexes=indexes,
        failed_indexes=given_up,
        kept=job_indexes.kept_pods(all_failed, active, indexes | given_up) if job.counts_by_index else {},
    )


def next_failures(before: Failures, counted: JobPodCounts) -> Failures:
    """Return the failures in a row, with those that are new."""
    ends = sorted(ended_at(pod) for pod in counted.new_failed)
    if not counted.new_succeeded:
        return Failures(before.count + len(ends), ends[-1]) if ends else before
    success = max(ended_at(pod) for pod in counted.new_succeeded)
    later = [end for end in ends if end > success]
    return Failures(len(later), later[-1]) if later else Failures()


def ending(job: Job, pods: Sequence[Pod], counted: JobPodCounts, now: datetime) -> Condition | None:
    """Return how the Job ends (FailureTarget or SuccessCriteriaMet), as it was decided before or is now.

    That enough pods have succeeded is decided apart, when it is known that none is left running.
    """
    for kind in (SUCCESS_CRITERIA_MET, FAILURE_TARGET):
        decided = find(job.status.conditions, kind)
        if decided is not None and decided.is_true:
            return decided
    message = job_policies.failure_message(job, [pod for pod in pods if is_failed(job, pod)])
    if message is not None:
        return Condition.true(FAILURE_TARGET, "PodFailurePolicy", message)
    if counted.failed > job.spec.backoff_limit or _restarted_too_often(job, pods):
        return Condition.true(FAILURE_TARGET, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left = seconds_to_deadline(job, now)
    if left is not None and left <= 0:
        return Condition.true(FAILURE_TARGET, "DeadlineExceeded", "Job was active longer than specified deadline")
    failed = counted.failed_indexes
    if job.spec.max_failed_indexes is not None and len(failed) > job.spec.max_failed_indexes:
        return Condition.true(FAILURE_TARGET, "MaxFailedIndexesExceeded", TOO_MANY_INDEXES)
    if failed and len(failed) + len(counted.indexes) >= (job.completions or 0):
        return Condition.true(FAILURE_TARGET, "FailedIndexes", "Job has failed indexes")
    enough = job_policies.success_message(job, counted.indexes)
    return Condition.true(SUCCESS_CRITERIA_MET, "SuccessPolicy", enough) if enough is not None else None


def is_complete(job: Job, counted: JobPodCounts, active: int) -> bool:
    """Tell whether enough pods have succeeded, and none is left."""
    enough = 1 if job.completions is None else job.completions
    return counted.succeeded >= enough and active == 0


def seconds_to_deadline(job: Job, now: datetime) -> float | None:
    """Return how long the Job may still run; None where there is no end to it, or it is not running."""
    started = job.status.start_time
    if job.spec.active_deadline_seconds is None or started is None or job.spec.suspend:
        return None
    return (started + timedelta(seconds=job.spec.active_deadline_seconds) - now).total_seconds()


def _succeeded_indexes(job: Job, fresh: Sequence[Pod]) -> frozenset[int]:
    before = job_indexes.parse(job.status.completed_indexes, job.completions or 0)
    new = (job_indexes.index_of(pod) for pod in fresh if pod.status.phase == SUCCEEDED)
    return before | {index for index in new if index is not None}


def _restarted_too_often(job: Job, pods: Sequence[Pod]) -> bool:
    if not job.restarts_in_place:
        return False
    count = sum(restarts(pod) for pod in pods if pod.status.phase in ("Running", "Pending"))
    return count > 0 if job.spec.backoff_limit == 0 else count >= job.spec.backoff_limit

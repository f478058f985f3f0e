"""A group of pods, as one job: which of its pods count, which are too many, which were replaced, and how it ended.

All functions are pure: they take pods and a Workload as they were seen.

Mirrors: Kueue pkg/controller/jobs/pod/pod_controller.go
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleetqueue import clock
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import FAILED, READY, SUCCEEDED
from fleetqueue.api.kueue_pods import (
    GROUP_FAST_ADMISSION,
    GROUP_SERVING,
    GROUP_TOTAL_COUNT,
    MANAGED,
    RETRIABLE_IN_GROUP,
    has_ended,
    is_deleting,
    is_gated,
)
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.pods.roles import role_of
from fleetqueue.embedded.kueue.pods.single_pods import is_stopped
from fleetqueue.rules.job_endings import Ending

RUNNING: Final = "Running"
WAITING_FOR_REPLACEMENT: Final = "WaitingForReplacementPods"


@dataclass(frozen=True, slots=True)
class PodGroup:
    name: str
    pods: tuple[Manifest, ...]
    """In one order; there is at least one."""

    @property
    def first(self) -> Manifest:
        """The pod that speaks for all in what they have to say alike."""
        return self.pods[0]

    @property
    def total_count(self) -> int:
        return int(job_fields.annotations(self.first)[GROUP_TOTAL_COUNT])

    @property
    def is_fast(self) -> bool:
        """Whether the first pod is enough to ask for all."""
        return job_fields.annotations(self.first).get(GROUP_FAST_ADMISSION) == "true"

    @property
    def is_serving(self) -> bool:
        """Whether it is to run for ever."""
        return job_fields.annotations(self.first).get(GROUP_SERVING) == "true"

    @property
    def is_unretriable(self) -> bool:
        """Whether it ends with its pods, also with those that failed."""
        return any(job_fields.annotations(pod).get(RETRIABLE_IN_GROUP) == "false" for pod in self.pods)

    @property
    def workload_name(self) -> str:
        return job_fields.prebuilt_workload(self.first) or self.name

    @property
    def is_still_coming(self) -> bool:
        """Whether pods of a copy are missing: MultiKueue sends them one by one, and the first must not end before the
        last has come."""
        is_copy = kueue.ORIGIN_LABEL in job_fields.labels(self.first)
        return is_copy and not self.is_fast and len(self.pods) < self.total_count


class PodGroups:
    """What is asked of a group."""

    def is_on_hold(self, job: PodGroup) -> bool:
        return False

    def is_elastic(self, job: PodGroup) -> bool:
        return False

    def is_suspended(self, job: PodGroup) -> bool:
        return any(is_stopped(pod) for pod in job.pods)

    def is_active(self, job: PodGroup) -> bool:
        """Tell whether any pod runs; one that has not gone when its time was over counts no more."""
        return any(_is_running(pod, clock.now()) for pod in job.pods)

    def ending(self, job: PodGroup) -> Ending | None:
        if job.is_serving:
            return None
        succeeded, total = _succeeded(job.pods), job.total_count
        has_failed = job.is_unretriable and all(has_ended(pod) for pod in job.pods)
        if len(succeeded) != total and not has_failed:
            return None
        return Ending("Succeeded", f"Pods succeeded: {len(succeeded)}/{total}.")

    def reclaimable(self, job: PodGroup) -> list[Manifest]:
        if job.is_serving:
            return []
        return [{"name": role, "count": count} for role, count in Counter(map(role_of, _succeeded(job.pods))).items()]

    def pods_ready(self, job: PodGroup) -> bool:
        return len(job.pods) >= job.total_count and all(is_true(pod, READY) for pod in job.pods)


class Members(NamedTuple):
    """The pods of a group as its Workload sees them."""

    kept: list[Manifest]
    excess: list[Manifest]
    """Could run, and are too many."""
    replaced: list[Manifest]
    """Cannot run any more, and others have taken their place."""
    absent: int
    """How many pods are missing."""


def can_run(pod: Manifest) -> bool:
    """Tell whether a pod runs, will run, or has succeeded."""
    if is_deleting(pod) and not pod["spec"].get("nodeName"):
        return False
    return _phase(pod) != FAILED


def members(group: PodGroup, workload: Manifest, now: datetime) -> Members:
    """Divide the pods of a group by what its Workload asks for."""
    counts = {pod_set["name"]: pod_set.get("count", 1) for pod_set in workload["spec"]["podSets"]}
    parts = [
        _members_of_role([pod for pod in group.pods if role_of(pod) == role], count, now, is_fast=group.is_fast)
        for role, count in counts.items()
    ]
    return Members(
        [pod for part in parts for pod in part.kept],
        [pod for part in parts for pod in part.excess],
        [pod for part in parts for pod in part.replaced],
        sum(part.absent for part in parts),
    )


def _members_of_role(pods: Sequence[Manifest], count: int, now: datetime, *, is_fast: bool) -> Members:
    able, unable = sorted_able(filter(can_run, pods)), _sorted_unable((pod for pod in pods if not can_run(pod)), now)
    stay = max(min(len(unable), count - len(able)), 0)
    absent = int(count > 0 and not able) if is_fast else max(count - len(able), 0)
    return Members([*able[:count], *unable[:stay]], able[count:], unable[stay:], absent)


def sorted_able(pods: Iterable[Manifest]) -> list[Manifest]:
    """Return pods, those first that are to stay: held by us, past the gate, older."""
    return sorted(pods, key=lambda pod: (not _is_held(pod), is_gated(pod), _created(pod)))


def _sorted_unable(pods: Iterable[Manifest], now: datetime) -> list[Manifest]:
    """Return pods, those last that can go first: not held by us, of no use for long."""
    return sorted(pods, key=lambda pod: (not _is_held(pod), now - _last_active(pod, now), _created(pod)))


def role_counts(group: PodGroup) -> dict[str, int]:
    """Return how many pods of each role a group has to ask for, by the names of the roles."""
    if group.is_fast:
        return next(({role_of(pod): group.total_count} for pod in group.pods if can_run(pod)), {})
    return counted_roles(group.pods)


def counted_roles(pods: Iterable[Manifest]) -> dict[str, int]:
    """Return how many pods of each role can run, or have succeeded."""
    return dict(sorted(Counter(role_of(pod) for pod in pods if can_run(pod)).items()))


def stands_for(workload: Manifest, group: PodGroup, counts: dict[str, int]) -> bool:
    """Tell whether a Workload asks for at least so many pods of each role."""
    if workload["metadata"]["name"] != group.workload_name:
        return False
    asked = {pod_set["name"]: pod_set.get("count", 1) for pod_set in workload["spec"]["podSets"]}
    if is_true(workload, kueue.FINISHED):
        return asked.keys() >= counts.keys()
    return all(asked.get(role, 0) >= count for role, count in counts.items())


def replacement_condition(workload: kueue.Workload, absent: int) -> Condition | None:
    """Return what a Workload shall say of pods that are missing; None where it says so already, or need not."""
    live = conditions.find(workload.status.conditions, WAITING_FOR_REPLACEMENT)
    if not absent:
        if live is None or not live.is_true:
            return None
        return Condition.false(WAITING_FOR_REPLACEMENT, "PodsReady", "No pods need replacement")
    evicted = conditions.find(workload.status.conditions, kueue.EVICTED)
    if evicted is not None and evicted.is_true:
        wanted = Condition.true(WAITING_FOR_REPLACEMENT, evicted.reason, evicted.message)
    elif live is not None and live.is_true:
        return None
    else:
        wanted = Condition.true(WAITING_FOR_REPLACEMENT, "PodsFailed", "Some Failed pods need replacement")
    is_told = live is not None and (live.status, live.reason, live.message) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    )
    return None if is_told else wanted


def _succeeded(pods: Iterable[Manifest]) -> list[Manifest]:
    return [pod for pod in pods if _phase(pod) == SUCCEEDED]


def _is_running(pod: Manifest, now: datetime) -> bool:
    if _phase(pod) != RUNNING:
        return False
    moment, grace = (pod["metadata"].get(field) for field in ("deletionTimestamp", "deletionGracePeriodSeconds"))
    if moment is None or grace is None:
        return True
    return now <= datetime.fromisoformat(moment) + timedelta(seconds=grace)


def _phase(pod: Manifest) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _is_held(pod: Manifest) -> bool:
    return MANAGED in (pod["metadata"].get("finalizers") or ())


def _created(pod: Manifest) -> str:
    return str(pod["metadata"].get("creationTimestamp", ""))


def _last_active(pod: Manifest, now: datetime) -> datetime:
    """Return when a pod failed, or is to be gone, whichever is first."""
    listed = (pod.get("status") or {}).get("conditions") or ()
    containers: Manifest = next((one for one in listed if one["type"] == "ContainersReady"), {})
    failed = containers.get("status") == "False" and containers.get("reason") == "PodFailed"
    moments = [pod["metadata"].get("deletionTimestamp"), containers.get("lastTransitionTime") if failed else None]
    return min([now, *(datetime.fromisoformat(moment) for moment in moments if moment)])

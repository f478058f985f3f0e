"""Who could be preempted for a Workload, in the order in which they are asked.

Mirrors: Kueue pkg/scheduler/preemption/classical
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cmp_to_key
from typing import Any

from fleetqueue.api.kueue_v1beta2 import Preemption
from fleetqueue.embedded.kueue.scheduling.cohorts import CohortNode, Queue
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource, Quantities
from fleetqueue.embedded.kueue.scheduling.quota import ResourceNode, remaining
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo

NEVER = "Never"
IN_CLUSTER_QUEUE = "InClusterQueue"
RECLAMATION = "InCohortReclamation"
WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
FAIR_SHARING = "InCohortFairSharing"

Holders = Callable[[str], Iterable[WorkloadInfo]]
"""Return the Workloads that hold quota in a ClusterQueue."""


LocalUsage = Callable[[WorkloadInfo], float | None]
"""Return what the LocalQueue of a Workload has consumed; None where its ClusterQueue does not ask for that."""


class Variant(Enum):
    """Why a Workload may be preempted."""

    WITHIN_QUEUE = IN_CLUSTER_QUEUE
    HIERARCHY = RECLAMATION
    WITHOUT_BORROWING = "reclaim, but only while the preemptor does not borrow"
    WHILE_BORROWING = WHILE_BORROWING
    FAIR_SHARING = FAIR_SHARING

    @property
    def reason(self) -> str:
        return RECLAMATION if self is Variant.WITHOUT_BORROWING else str(self.value)


@dataclass(frozen=True, slots=True)
class PreemptionCandidate:
    work: WorkloadInfo
    queue: Queue
    top: CohortNode | None
    """Where its path and the preemptor's meet; None within one queue."""
    variant: Variant


@dataclass(frozen=True, slots=True)
class Preemptor:
    """Who preempts, for what."""

    work: WorkloadInfo
    queue: Queue
    rules: Preemption
    wanted: Quantities
    scarce: Set[FlavorResource]
    """Of what there is not enough."""
    local_usage: LocalUsage | None = None
    """None where it does not matter what LocalQueues have consumed."""
    can_be_placed: Callable[[], bool] = lambda: True
    """Tells, where topology counts, whether its pods could be placed as things stand."""

    @property
    def may_borrow(self) -> bool:
        return self.rules.borrow_within_cohort.policy != NEVER


@dataclass(frozen=True, slots=True)
class Candidates:
    hierarchy: list[PreemptionCandidate]
    others: list[PreemptionCandidate]
    own: list[PreemptionCandidate]

    @property
    def in_order(self) -> list[PreemptionCandidate]:
        """Those who are leaving anyway first; then those of other queues."""
        classes = (self.hierarchy, self.others, self.own)
        leaving = [candidate for group in classes for candidate in group if candidate.work.is_evicted]
        return leaving + [candidate for group in classes for candidate in group if not candidate.work.is_evicted]


def candidates(preemptor: Preemptor, holders: Holders, now: datetime) -> Candidates:
    hierarchy, others = _of_cohort(preemptor, holders)
    own = []
    if preemptor.rules.within_cluster_queue != NEVER:
        own = [*_of_queue(preemptor, preemptor.queue, None, holders, has_advantage=False)]
    order = candidate_order(preemptor, now)
    return Candidates(*(sorted(group, key=order) for group in (hierarchy, others, own)))


def allowed_candidates(
    preemptor: Preemptor, queue: Queue, holders: Holders, policy: str, variant: Variant
) -> Iterator[PreemptionCandidate]:
    """Yield who of a queue holds something scarce and may be preempted by a policy."""
    for work in holders(queue.name) if policy != NEVER else ():
        if _is_allowed(preemptor.work, work, policy) and not preemptor.scarce.isdisjoint(work.usage):
            yield PreemptionCandidate(work, queue, None, variant)


def is_valid(candidate: PreemptionCandidate, preemptor: Preemptor, *, may_borrow: bool) -> bool:
    """Tell whether a candidate, after those before, may still be preempted: of other queues only while they borrow."""
    if candidate.queue is preemptor.queue:
        return True
    if may_borrow and candidate.variant is Variant.WITHOUT_BORROWING:
        return False
    if candidate.queue.is_within_quota(preemptor.scarce):
        return False
    for node in candidate.queue.ancestors():
        if node is candidate.top:
            break
        if node.is_within_quota(preemptor.scarce):
            return False
    return True


def _of_cohort(preemptor: Preemptor, holders: Holders) -> tuple[list[PreemptionCandidate], list[PreemptionCandidate]]:
    """Walk up the tree; from where the quota of a subtree holds what is wanted, those outside owe it."""
    hierarchy: list[PreemptionCandidate] = []
    others: list[PreemptionCandidate] = []
    if preemptor.rules.reclaim_within_cohort == NEVER:
        return hierarchy, others
    has_advantage, left = remaining(preemptor.queue, preemptor.wanted)
    below: ResourceNode | None = None
    for top in _cohorts_above(preemptor.queue):
        group = hierarchy if has_advantage else others
        for queue in _borrowing_queues(top, below, preemptor):
            group.extend(_of_queue(preemptor, queue, top, holders, has_advantage=has_advantage))
        fits, left = remaining(top, left)
        has_advantage = has_advantage or fits
        below = top
    return hierarchy, others


def _cohorts_above(queue: Queue) -> Iterator[CohortNode]:
    for node in queue.ancestors():
        assert isinstance(node, CohortNode)  # above a queue there are only cohorts
        yield node


def _borrowing_queues(cohort: CohortNode, besides: ResourceNode | None, preemptor: Preemptor) -> Iterator[Queue]:
    for child in cohort.cohorts.values():
        if child is not besides and not child.is_within_quota(preemptor.scarce):
            yield from _borrowing_queues(child, besides, preemptor)
    for queue in cohort.queues.values():
        if queue is not preemptor.queue and not queue.is_within_quota(preemptor.scarce):
            yield queue


def _of_queue(
    preemptor: Preemptor, queue: Queue, top: CohortNode | None, holders: Holders, *, has_advantage: bool
) -> Iterator[PreemptionCandidate]:
    for work in holders(queue.name):
        variant = _variant(preemptor, work, has_advantage=has_advantage)
        if variant is not None:
            yield PreemptionCandidate(work, queue, top, variant)


def _variant(preemptor: Preemptor, work: WorkloadInfo, *, has_advantage: bool) -> Variant | None:
    if preemptor.scarce.isdisjoint(work.usage):
        return None
    is_own = work.cluster_queue == preemptor.queue.name
    rules = preemptor.rules
    if not _is_allowed(preemptor.work, work, rules.within_cluster_queue if is_own else rules.reclaim_within_cohort):
        return None
    if is_own:
        return Variant.WITHIN_QUEUE
    if has_advantage:
        return Variant.HIERARCHY
    if not preemptor.may_borrow or _is_above_threshold(preemptor, work):
        return Variant.WITHOUT_BORROWING
    return Variant.WHILE_BORROWING


def _is_allowed(preemptor: WorkloadInfo, work: WorkloadInfo, policy: str) -> bool:
    is_lower = work.priority < preemptor.priority
    match policy:
        case "LowerPriority":
            return is_lower
        case "LowerOrNewerEqualPriority":
            return is_lower or (work.priority == preemptor.priority and preemptor.since < work.since)
    return policy == "Any"


def _is_above_threshold(preemptor: Preemptor, work: WorkloadInfo) -> bool:
    threshold = preemptor.rules.borrow_within_cohort.max_priority_threshold
    return work.priority >= preemptor.work.priority or (threshold is not None and work.priority > threshold)


def candidate_order(preemptor: Preemptor, now: datetime) -> Callable[[PreemptionCandidate], Any]:
    """Return a key by which candidates are asked: who is leaving anyway, then those of other queues, of low priority,
    and the newest.

    Where usage matters, of two of one ClusterQueue the one whose LocalQueue has consumed more is asked before all
    priorities; those of different ClusterQueues are not compared by it, so only pairs can be compared.
    """

    def key(candidate: PreemptionCandidate) -> tuple[bool, bool, int, float, str]:
        work, is_own = candidate.work, candidate.queue is preemptor.queue
        reserved = work.reserved_at or now
        return not work.is_evicted, is_own, work.priority, -reserved.timestamp(), work.view.uid

    usage = preemptor.local_usage
    if usage is None:
        return key

    def compared(one: PreemptionCandidate, other: PreemptionCandidate) -> int:
        mine, theirs = key(one), key(other)
        if mine[:2] == theirs[:2] and one.queue is other.queue:
            used, by_other = usage(one.work), usage(other.work)
            if used is not None and by_other is not None and used != by_other:
                return -1 if used > by_other else 1
        return -1 if mine < theirs else 1

    return cmp_to_key(compared)

"""Choose whom to preempt with fair sharing: those of the ClusterQueues and Cohorts with the highest shares.

From the root of the tree the child with the highest share is entered again and again, with the usage of who preempts
already added and that of the chosen taken away. Who is found there goes if the shares allow it; at the end it is tried
whether some can stay after all. The snapshot is as before afterwards.

Mirrors: Kueue pkg/scheduler/preemption (fairPreemptions), pkg/scheduler/preemption/fairsharing
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from fleetqueue.embedded.kueue.scheduling.candidates import (
    Holders,
    PreemptionCandidate,
    Preemptor,
    Variant,
    allowed_candidates,
    candidate_order,
)
from fleetqueue.embedded.kueue.scheduling.cohorts import CohortNode, Queue
from fleetqueue.embedded.kueue.scheduling.dominant_resource_share import (
    LOWEST,
    DominantResourceShare,
    dominant_resource_share,
)
from fleetqueue.embedded.kueue.scheduling.preemption import (
    PreemptionTarget,
    fits,
    put_back,
    take,
    without_needless,
)
from fleetqueue.embedded.kueue.scheduling.quota import ResourceNode
from fleetqueue.embedded.kueue.settings import LESS_THAN_INITIAL, FairSharingSettings

Order = Callable[[PreemptionCandidate], Any]


def fair_targets(
    preemptor: Preemptor, holders: Holders, now: datetime, settings: FairSharingSettings
) -> list[PreemptionTarget]:
    """Return the Workloads to preempt; none where the shares do not allow enough."""
    order = candidate_order(preemptor, now)
    candidates = sorted(_candidates(preemptor, holders), key=order)
    if not candidates:
        return []
    search = _Search(preemptor, settings, order)
    try:
        if not search.succeeds(candidates):
            return []
        kept = without_needless(preemptor, search.chosen, may_borrow=True)
        return [PreemptionTarget(candidate) for candidate in kept]
    finally:
        for candidate in search.chosen:
            put_back(candidate)


def _candidates(preemptor: Preemptor, holders: Holders) -> Iterator[PreemptionCandidate]:
    """Yield those of the own queue, and of all others in the tree that borrow of what is scarce."""
    rules, own = preemptor.rules, preemptor.queue
    yield from allowed_candidates(preemptor, own, holders, rules.within_cluster_queue, Variant.WITHIN_QUEUE)
    root = [own, *own.ancestors()][-1]
    for queue in root.subtree_queues() if isinstance(root, CohortNode) else ():
        if queue is not own and not queue.is_within_quota(preemptor.scarce):
            yield from allowed_candidates(preemptor, queue, holders, rules.reclaim_within_cohort, Variant.FAIR_SHARING)


@dataclass(slots=True)
class _Search:
    preemptor: Preemptor
    settings: FairSharingSettings
    order: Order
    chosen: list[PreemptionCandidate] = field(default_factory=list)
    """Those who go, whose usage is taken away."""

    def succeeds(self, candidates: Sequence[PreemptionCandidate]) -> bool:
        """Choose until the preemptor fits; its usage counts in all shares."""
        queue, wanted = self.preemptor.queue, self.preemptor.wanted
        first, *more = self.settings.preemption_strategies
        queue.add_all(wanted)
        try:
            is_enough, others = self._choose_by(first, candidates)
            return is_enough or (bool(more) and self._choose_by_initial_share(others))
        finally:
            queue.add_all(wanted, -1)

    def _choose_by(
        self, strategy: str, candidates: Sequence[PreemptionCandidate]
    ) -> tuple[bool, Sequence[PreemptionCandidate]]:
        """Choose by the first strategy; return whether that is enough, and who may stay by it."""
        others: list[PreemptionCandidate] = []
        own = self.preemptor.queue
        is_entitled = self.settings.preempts_within_nominal and own.is_within_quota(self.preemptor.scarce)
        targets = TargetQueues(own, candidates, self.order)
        for queue in targets:
            if queue is own or is_entitled:
                variant = Variant.WITHIN_QUEUE if queue is own else Variant.HIERARCHY
                if self._is_enough_with(targets.pop(queue), variant):
                    return True, others
            else:
                found = self._first_allowed(strategy, queue, targets, others)
                if found is not None and self._is_enough_with(found, Variant.FAIR_SHARING):
                    return True, others
        return False, others

    def _first_allowed(
        self, strategy: str, queue: Queue, targets: "TargetQueues", others: list[PreemptionCandidate]
    ) -> PreemptionCandidate | None:
        """Find the first in a queue whom the strategy lets go; note those before it."""
        own, node = children_of_common_cohort(self.preemptor.queue, queue)
        mine, before = dominant_resource_share(own), dominant_resource_share(node)
        while targets.has_candidates(queue):
            candidate = targets.pop(queue)
            if strategy == LESS_THAN_INITIAL:
                is_allowed = mine.order < before.order
            else:
                is_allowed = mine.order <= _share_without(candidate, node).order
            if is_allowed:
                return candidate
            others.append(candidate)
        return None

    def _choose_by_initial_share(self, candidates: Sequence[PreemptionCandidate]) -> bool:
        """Choose one more of each queue whose share is higher than that of who preempts."""
        targets = TargetQueues(self.preemptor.queue, candidates, self.order)
        for queue in targets:
            own, node = children_of_common_cohort(self.preemptor.queue, queue)
            candidate = targets.pop(queue)
            if dominant_resource_share(own).order < dominant_resource_share(node).order and self._is_enough_with(
                candidate, Variant.FAIR_SHARING
            ):
                return True
            targets.drop(queue)
        return False

    def _is_enough_with(self, candidate: PreemptionCandidate, variant: Variant) -> bool:
        """Choose one more; return whether the preemptor fits then."""
        candidate = replace(candidate, variant=variant)
        take(candidate)
        self.chosen.append(candidate)
        queue, wanted = self.preemptor.queue, self.preemptor.wanted
        queue.add_all(wanted, -1)
        is_enough = fits(self.preemptor, may_borrow=True)
        queue.add_all(wanted)
        return is_enough


class TargetQueues:
    """Yields the ClusterQueue that is reached through the highest shares, again while it has candidates.

    Whoever iterates takes a candidate of each queue that it gets, or drops the queue.
    """

    def __init__(self, own: Queue, candidates: Iterable[PreemptionCandidate], order: Order) -> None:
        self._own = own
        self._path = {*own.ancestors()}
        self._order = order
        self._left: dict[str, deque[PreemptionCandidate]] = {}
        for candidate in candidates:
            self._left.setdefault(candidate.queue.name, deque()).append(candidate)
        self._pruned: set[ResourceNode] = set()
        """Nodes in which there is no candidate to be found any more."""

    def __iter__(self) -> Iterator[Queue]:
        root = [self._own, *self._own.ancestors()][-1]
        if not isinstance(root, CohortNode):
            while self._own not in self._pruned and self.has_candidates(self._own):
                yield self._own
            return
        while root not in self._pruned:
            if (queue := self._next(root)) is not None:
                yield queue

    def has_candidates(self, queue: Queue) -> bool:
        return bool(self._left.get(queue.name))

    def pop(self, queue: Queue) -> PreemptionCandidate:
        return self._left[queue.name].popleft()

    def drop(self, queue: Queue) -> None:
        self._pruned.add(queue)

    def _next(self, cohort: CohortNode) -> Queue | None:
        """Go down to a queue; None where that only showed that there is none."""
        queue, of_queue = self._highest_queue(cohort)
        child, of_child = self._highest_cohort(cohort)
        if child is not None and of_child >= of_queue:
            return self._next(child)
        if queue is None:
            self._pruned.add(cohort)
        return queue

    def _highest_queue(self, cohort: CohortNode) -> tuple[Queue | None, tuple[int, float]]:
        """Find the queue with the highest share; of equals the one whose first candidate is asked first."""
        best, highest = None, LOWEST
        for queue in cohort.queues.values():
            if queue in self._pruned:
                continue
            share = dominant_resource_share(queue)
            if not self.has_candidates(queue) or not (share.is_borrowing or queue is self._own):
                self._pruned.add(queue)
            elif best is None or (share.order, self._first(best)) > (highest, self._first(queue)):
                best, highest = queue, share.order
        return best, highest

    def _highest_cohort(self, cohort: CohortNode) -> tuple[CohortNode | None, tuple[int, float]]:
        best, highest = None, LOWEST
        for child in cohort.cohorts.values():
            if child in self._pruned:
                continue
            share = dominant_resource_share(child)
            if not share.is_borrowing and child not in self._path:
                self._pruned.add(child)
            elif share.order >= highest:
                best, highest = child, share.order
        return best, highest

    def _first(self, queue: Queue) -> Any:
        return self._order(self._left[queue.name][0])


def children_of_common_cohort(one: Queue, other: Queue) -> tuple[ResourceNode, ResourceNode]:
    """Return the two nodes below the lowest cohort that has both queues, the one of each."""
    path = {node: below for below, node in _steps(one)}
    below, common = next((below, node) for below, node in _steps(other) if node in path)
    return path[common], below


def _steps(queue: Queue) -> Iterator[tuple[ResourceNode, ResourceNode]]:
    """Go up from a queue; yield each node with the one above it."""
    below: ResourceNode = queue
    for node in queue.ancestors():
        yield below, node
        below = node


def _share_without(candidate: PreemptionCandidate, node: ResourceNode) -> DominantResourceShare:
    take(candidate)
    try:
        return dominant_resource_share(node)
    finally:
        put_back(candidate)

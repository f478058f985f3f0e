"""Choose whom to preempt: as few as needed, those who have the least right first.

Candidates are taken away one by one until the Workload fits; then it is tried whether some of them can stay after all.
The snapshot is as before afterwards: usage that is removed to simulate a preemption is added again.

Mirrors: Kueue pkg/scheduler/preemption
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from fleetqueue.embedded.kueue.scheduling.assignment import GranularMode
from fleetqueue.embedded.kueue.scheduling.candidates import (
    Candidates,
    Holders,
    PreemptionCandidate,
    Preemptor,
    candidates,
    is_valid,
)
from fleetqueue.embedded.kueue.scheduling.cohorts import Queue
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import lowest_that_fits
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource


@dataclass(frozen=True, slots=True)
class PreemptionTarget:
    """A Workload that shall be preempted, and why it may be."""

    candidate: PreemptionCandidate

    @property
    def key(self) -> str:
        return self.candidate.work.key

    @property
    def reason(self) -> str:
        return self.candidate.variant.reason


def targets(preemptor: Preemptor, holders: Holders, now: datetime) -> list[PreemptionTarget]:
    """Return the Workloads to preempt; none where that cannot help."""
    candidate_groups = candidates(preemptor, holders, now)
    in_order = candidate_groups.in_order
    for may_borrow in _attempts(preemptor, candidate_groups):
        if chosen := _fewest(preemptor, in_order, may_borrow=may_borrow):
            return [PreemptionTarget(candidate) for candidate in chosen]
    return []


def simulated(preemptor: Preemptor, chosen: Sequence[PreemptionTarget]) -> tuple[GranularMode, int]:
    """Say what preemption gives for one resource: how, and how high up one must borrow without the chosen."""
    ((what, value),) = preemptor.wanted.items()
    with without(chosen):
        borrows, _ = lowest_that_fits(preemptor.queue, what, value)
    if not chosen:
        return GranularMode.NO_CANDIDATES, borrows
    is_own = any(target.candidate.queue is preemptor.queue for target in chosen)
    return (GranularMode.PREEMPT if is_own else GranularMode.RECLAIM), borrows


@contextmanager
def without(victims: Iterable[PreemptionTarget]) -> Iterator[None]:
    """Look at the quota as if these were gone."""
    gone = [target.candidate for target in victims]
    for candidate in gone:
        take(candidate)
    try:
        yield
    finally:
        for candidate in gone:
            put_back(candidate)


def _attempts(preemptor: Preemptor, candidate_groups: Candidates) -> tuple[bool, ...]:
    """Return whether to borrow, in the order in which it is tried."""
    has_others = bool(candidate_groups.hierarchy or candidate_groups.others)
    if not has_others or (not preemptor.may_borrow and not _is_under_nominal(preemptor.queue, preemptor.scarce)):
        return (True,)
    if not preemptor.may_borrow and not candidate_groups.hierarchy:
        return (False, True)
    return (True, False)


def _is_under_nominal(queue: Queue, flavor_resources: Iterable[FlavorResource]) -> bool:
    return all(queue.usage.get(what, 0) < queue.quota(what).nominal for what in flavor_resources)


def _fewest(
    preemptor: Preemptor, in_order: Iterable[PreemptionCandidate], *, may_borrow: bool
) -> list[PreemptionCandidate]:
    chosen: list[PreemptionCandidate] = []
    try:
        for candidate in in_order:
            if not is_valid(candidate, preemptor, may_borrow=may_borrow):
                continue
            take(candidate)
            chosen.append(candidate)
            if fits(preemptor, may_borrow=may_borrow):
                return without_needless(preemptor, chosen, may_borrow=may_borrow)
        return []
    finally:
        for candidate in chosen:
            put_back(candidate)


def without_needless(
    preemptor: Preemptor, chosen: list[PreemptionCandidate], *, may_borrow: bool
) -> list[PreemptionCandidate]:
    """Let those stay without whom it fits as well, asked from the last to the first; changes `chosen`."""
    for number in range(len(chosen) - 2, -1, -1):
        put_back(chosen[number])
        if fits(preemptor, may_borrow=may_borrow):
            chosen[number] = chosen[-1]
            chosen.pop()
        else:
            take(chosen[number])
    return [*chosen]


def fits(preemptor: Preemptor, *, may_borrow: bool) -> bool:
    queue, wanted = preemptor.queue, preemptor.wanted
    if not may_borrow and any(queue.would_borrow(what, value) for what, value in wanted.items()):
        return False
    return queue.fits(wanted) and preemptor.can_be_placed()


def take(candidate: PreemptionCandidate) -> None:
    candidate.queue.use(candidate.work.usage, candidate.work.topology_usage, -1)


def put_back(candidate: PreemptionCandidate) -> None:
    candidate.queue.use(candidate.work.usage, candidate.work.topology_usage)

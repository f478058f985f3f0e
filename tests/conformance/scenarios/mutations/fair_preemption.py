"""Rules of whom fair sharing preempts.

Upstream's two strategies differ also where shares are equal: no recorded scenario ends otherwise for that, and unit
tests ask for it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from fleetqueue.embedded.kueue.scheduling import candidates, fair_preemption, preemption
from fleetqueue.embedded.kueue.scheduling.candidates import (
    RECLAMATION,
    Holders,
    PreemptionCandidate,
    Preemptor,
    Variant,
)
from fleetqueue.embedded.kueue.scheduling.cohorts import CohortNode, Queue
from fleetqueue.embedded.kueue.scheduling.dominant_resource_share import LOWEST, dominant_resource_share
from fleetqueue.embedded.kueue.scheduling.fair_preemption import TargetQueues, _Search
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import Chance, FlavorAssigner
from fleetqueue.embedded.kueue.settings import LESS_THAN_INITIAL, LESS_THAN_OR_EQUAL_TO_FINAL

from .mutation import Mutation, always, by_chance

all_candidates, candidate_order = fair_preemption._candidates, candidates.candidate_order
first_allowed, choose_by, reason = _Search._first_allowed, _Search._choose_by, Variant.reason
share_of = dominant_resource_share

Candidates = Sequence[PreemptionCandidate]


def _by(only: str) -> Callable[..., PreemptionCandidate | None]:
    """Let one strategy stand for both."""
    return lambda self, strategy, *more: first_allowed(self, only, *more)


def _whoever(self: _Search, strategy: str, queue: Queue, targets: TargetQueues, others: Any) -> PreemptionCandidate:
    return targets.pop(queue)


def _without_what_it_wants(self: _Search, *more: Any) -> PreemptionCandidate | None:
    """Compare shares as if who preempts had not yet what it wants, which counts for it only."""
    queue, wanted = self.preemptor.queue, self.preemptor.wanted
    queue.add_all(wanted, -1)
    found = first_allowed(self, *more)
    queue.add_all(wanted)
    return found


def _not_entitled(self: _Search, strategy: str, among: Candidates) -> tuple[bool, Candidates]:
    settings = replace(self.settings, preempts_within_nominal=False)
    return choose_by(replace(self, settings=settings), strategy, among)


def _of_others(preemptor: Preemptor, holders: Holders) -> Iterator[PreemptionCandidate]:
    return (one for one in all_candidates(preemptor, holders) if one.queue is not preemptor.queue)


def _lowest_queue(self: TargetQueues, cohort: CohortNode) -> tuple[Queue | None, tuple[int, float]]:
    left = [queue for queue in cohort.queues.values() if queue not in self._pruned]
    asked = [one for one in left if self.has_candidates(one) and (share_of(one).is_borrowing or one is self._own)]
    self._pruned.update({*left} - {*asked})
    lowest = min(asked, key=lambda one: share_of(one).order, default=None)
    return lowest, LOWEST if lowest is None else share_of(lowest).order


def _ordered_by(*parts: int, turned: int = -1) -> Callable[[Preemptor, datetime], Callable[..., Any]]:
    """Ask candidates by some parts of the usual order alone, one of them the other way round."""

    def made(preemptor: Preemptor, now: datetime) -> Callable[..., Any]:
        usual = candidate_order(preemptor, now)
        return lambda one: [-usual(one)[part] if part == turned else usual(one)[part] for part in parts]

    return made


MUTATIONS = (
    Mutation(
        "by the share at first another rule holds than by that at the end",
        _Search,
        "_first_allowed",
        _by(LESS_THAN_OR_EQUAL_TO_FINAL),
        ("by the share at first alone a large one goes", *by_chance(2, 19)),
    ),
    Mutation(
        "by the share at the end another rule holds than by that at first",
        _Search,
        "_first_allowed",
        _by(LESS_THAN_INITIAL),
        ("by the final share alone a large one stays", *by_chance(0, 9, 10, 22)),
    ),
    Mutation(
        "only those go whose share is larger",
        _Search,
        "_first_allowed",
        _whoever,
        (
            "nobody goes once all have the same",
            "a weight of nothing takes nothing",
            "a share that would be larger takes nothing",
            "a share that would be the same takes nothing at first",
            *by_chance(17, 19, 21),
        ),
    ),
    Mutation(
        "who preempts counts with what it wants",
        _Search,
        "_first_allowed",
        _without_what_it_wants,
        (
            "nobody goes once all have the same",
            "a share that would be larger takes nothing",
            "a share that would be the same takes nothing at first",
            *by_chance(9, 10, 22),
        ),
    ),
    Mutation(
        "the second strategy is tried where the first is not enough",
        _Search,
        "_choose_by_initial_share",
        always(False),
        (
            "a large one does not go for a small one at first",
            "a weight of nothing loses what it borrows",
            *by_chance(6, 16, 21),
        ),
    ),
    Mutation(
        "within its own quota anybody goes who borrows",
        _Search,
        "_choose_by",
        _not_entitled,
        ("within its own quota it takes back from any borrower", *by_chance(10)),
    ),
    Mutation(
        "some of its own may go",
        fair_preemption,
        "_candidates",
        _of_others,
        ("its own lower priorities go with those of others", *by_chance(1)),
    ),
    Mutation(
        "the queue with the highest share is asked first",
        TargetQueues,
        "_highest_queue",
        _lowest_queue,
        ("a weight of nothing loses what it borrows",),
    ),
    Mutation(
        "those in branches may go, too",
        TargetQueues,
        "_highest_cohort",
        always((None, LOWEST)),
        ("the branch with the largest share loses", "inside a branch its queues even out"),
    ),
    Mutation(
        "shares are compared below the lowest cohort that has both",
        fair_preemption,
        "children_of_common_cohort",
        lambda one, other: (one, other),
        by_chance(0),
    ),
    Mutation(
        "the lowest priority is asked first",
        candidates,
        "candidate_order",
        _ordered_by(0, 1, 3, 4),
        (
            "within its own quota it takes back from any borrower",
            "the lowest priority goes by the share at first",
            "the share at the end decides who goes",
            "both shares decide who goes",
        ),
    ),
    Mutation(
        "the newest is asked first",
        candidates,
        "candidate_order",
        _ordered_by(0, 1, 2, 3, 4, turned=3),
        (
            "who has nothing takes from who has most",
            "a weight lets it take more",
            "inside a branch its queues even out",
        ),
    ),
    Mutation(
        "who need not go stays",
        preemption,
        "without_needless",
        lambda preemptor, chosen, *, may_borrow: [*chosen],
        ("a large one does not go for a small one at first",),
    ),
    Mutation(
        "of those who may go the priority is lower",
        candidates,
        "_is_allowed",
        lambda preemptor, work, policy: policy == "Any" or work.priority > preemptor.priority,
        ("only lower priorities are taken where the queue says so",),
    ),
    Mutation(
        "who borrows may preempt",
        FlavorAssigner,
        "_may_preempt_while_borrowing",
        property(always(False)),
        ("who has nothing takes from who has most", "a weight lets it take more"),
    ),
    Mutation(
        "only who may take something back preempts while it borrows",
        FlavorAssigner,
        "_may_preempt_while_borrowing",
        property(always(True)),
        ("nobody goes where nothing may be taken back",),
    ),
    Mutation(
        "a further flavor is tried before anybody goes",
        Chance,
        "may_be_bettered",
        lambda self, rules: self.granular_mode.value < 2,
        ("a further flavor is better than preemption",),
    ),
    Mutation(
        "who goes is told that it is for fair shares",
        Variant,
        "reason",
        property(lambda self: RECLAMATION if self is Variant.FAIR_SHARING else self.value),
        ("who has nothing takes from who has most", "the branch with the largest share loses"),
    ),
)

"""One Placement's clusters, filtered, scored and sorted; updated cluster by cluster as they change.

A ranking stands on what the Placement asks for and on the sets that it may choose from; where those change, a new one
is made. Everything else is followed: `refresh` is told which clusters may have changed, and works only on these, on
those whose time has come, and on those whose score depends on others that changed. What comes out is the same as from
a new ranking of everything.

Mirrors: OCM pkg/placement/controllers/scheduling/schedule.go
"""

from bisect import bisect_left, insort
from collections import Counter as Counts
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from heapq import heappop, heappush
from typing import Final

from fleetqueue.api.cluster_v1 import ManagedCluster, ManagedClusterSet, Placement
from fleetqueue.embedded.ocm.placement.eligibility import is_member
from fleetqueue.embedded.ocm.placement.plugins.filters import Predicates, problem_of
from fleetqueue.embedded.ocm.placement.plugins.interface import Facts, Misconfigured
from fleetqueue.embedded.ocm.placement.plugins.prioritizers import Weighted, wanted_prioritizers
from fleetqueue.embedded.ocm.placement.plugins.selectors import CompileExpression
from fleetqueue.rules.placement_eligibility import Tolerance, tolerance

MANY: Final = 8
"""Where more than one in so many changed, sorting anew is quicker than moving each."""


class Order:
    """Clusters in the order of their scores, kept right while single scores change.

    Best first; of equal scores, by name.
    """

    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._sorted: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._totals)

    def __contains__(self, name: str) -> bool:
        return name in self._totals

    def total(self, name: str) -> int:
        return self._totals[name]

    def totals(self) -> Mapping[str, int]:
        return self._totals

    def first(self, number: int | None) -> list[str]:
        """Return the best ones; all of them for None."""
        return [name for _, name in self._sorted[:number]]

    def update(self, gone: Set[str], totals: Mapping[str, int]) -> None:
        """Take out who is gone, and give others their totals."""
        gone = self._totals.keys() & gone
        changed = {name: total for name, total in totals.items() if self._totals.get(name) != total}
        if (len(gone) + len(changed)) * MANY > len(self._totals):
            self._sort_anew(gone, changed)
            return
        for name in gone:
            self._take_out(name)
        for name, total in changed.items():
            self._take_out(name)
            self._totals[name] = total
            insort(self._sorted, (-total, name))

    def _sort_anew(self, gone: Set[str], changed: Mapping[str, int]) -> None:
        for name in gone:
            del self._totals[name]
        self._totals.update(changed)
        self._sorted = sorted((-total, name) for name, total in self._totals.items())

    def _take_out(self, name: str) -> None:
        total = self._totals.pop(name, None)
        if total is not None:
            del self._sorted[bisect_left(self._sorted, (-total, name))]


class DueTimes:
    """Moments at which time alone changes something: for each name the next one."""

    def __init__(self) -> None:
        self._when: dict[str, datetime] = {}
        self._heap: list[tuple[datetime, str]] = []

    def set(self, name: str, when: datetime | None) -> None:
        """Set a name's next moment; None takes it away."""
        if when == self._when.get(name):
            return
        if when is None:
            del self._when[name]
            return
        self._when[name] = when
        heappush(self._heap, (when, name))

    def due(self, now: datetime) -> list[str]:
        """Take and return the names whose moment has come."""
        names = []
        while self._heap and self._heap[0][0] <= now:
            when, name = heappop(self._heap)
            if self._when.get(name) == when:
                del self._when[name]
                names.append(name)
        return names

    def next(self) -> datetime | None:
        """Return the next moment."""
        while self._heap and self._when.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)  # it was moved or taken away since
        return self._heap[0][0] if self._heap else None


class FilterStage(Enum):
    """How far a cluster of the sets gets."""

    AVAILABLE = "it is in a set"
    MATCHED = "a predicate asks for it"
    PASSED = "and its taints are tolerated"


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """What a Placement gets."""

    selected: Sequence[str] = ()
    """Best first."""
    unscheduled: int = 0
    """How many more it wanted."""
    available: int = 0
    """How many clusters are in its sets."""
    totals: Mapping[str, int] = field(default_factory=dict)
    """The scores of all clusters that passed the filters."""
    problem: Misconfigured | None = None
    warning: str = ""


class Ranking:
    def __init__(
        self,
        placement: Placement,
        sets: Sequence[ManagedClusterSet],
        facts: Facts,
        compile_expression: CompileExpression,
    ) -> None:
        self.placement = placement
        self.sets = sets
        self.facts = facts
        self.predicates = Predicates(placement, facts, compile_expression)
        self.toleration_problem = problem_of(placement)
        self.weights_problem: Misconfigured | None = None
        self.prioritizers: list[Weighted] = []
        try:
            self.prioritizers = wanted_prioritizers(placement, facts)
        except Misconfigured as problem:
            self.weights_problem = problem
        self._stages: dict[str, FilterStage] = {}
        self._reached: Counts[FilterStage] = Counts()
        self._decided: set[str] = set()
        self._counts_read = -1
        self._due_times = DueTimes()
        self.order = Order()

    def stands_on(self, placement: Placement, sets: Sequence[ManagedClusterSet]) -> bool:
        """Tell whether it is still about the same question."""
        return self.placement.spec == placement.spec and _specs(self.sets) == _specs(sets)

    def refresh(self, changed: Iterable[str], now: datetime) -> None:
        """Bring everything up to date, given who may have changed; the first time, everybody."""
        names = {*changed, *self._due_times.due(now), *self._newly_decided()}
        for name in names:
            self._judge(name, now)
        for weighted in self.prioritizers:
            moved = weighted.prioritizer.moved()
            names.update(self._stages if moved is None else moved)
        passed = {name for name in names if self._stages.get(name) is FilterStage.PASSED}
        self.order.update(names - passed, {name: self._total(name) for name in passed})

    def result(self) -> ScheduleResult:
        available = len(self._stages)
        problem = self._problem()
        if problem is not None:
            return ScheduleResult(available=available, problem=problem)
        number = self.placement.spec.number_of_clusters
        selected = self.order.first(None if number is None else max(number, 0))
        unscheduled = 0 if number is None else number - len(selected)
        return ScheduleResult(selected, unscheduled, available, self.order.totals(), warning=self._warning())

    def next_change(self) -> datetime | None:
        """Return when time alone may change something."""
        return self._due_times.next()

    def is_available(self, cluster: ManagedCluster) -> bool:
        return not cluster.is_deleting and any(is_member(cluster, cluster_set) for cluster_set in self.sets)

    def tolerance(self, cluster: ManagedCluster, now: datetime) -> Tolerance:
        is_chosen = cluster.name in self.facts.decision_counts.of(self.facts.placement)
        return tolerance(cluster, self.placement.spec.tolerations, now, is_chosen=is_chosen)

    def _newly_decided(self) -> Iterable[str]:
        """Return who entered or left this Placement's own decisions since the last time."""
        decision_counts = self.facts.decision_counts
        if decision_counts.position == self._counts_read:
            return ()
        self._counts_read = decision_counts.position
        decided = decision_counts.of(self.facts.placement).keys()
        changed = decided ^ self._decided
        self._decided ^= changed
        return changed

    def _judge(self, name: str, now: datetime) -> None:
        """Find out how far a cluster gets, and let the prioritizers know."""
        cluster = self.facts.cluster(name)
        if cluster is None or not self.is_available(cluster):
            self._leave(name, None)
        elif self.predicates.problem is not None or not self.predicates.admit(cluster):
            self._leave(name, FilterStage.AVAILABLE)
        elif self.toleration_problem is not None or (verdict := self.tolerance(cluster, now)).offence is not None:
            self._leave(name, FilterStage.MATCHED)
        else:
            self._enter(cluster, verdict.until, now)

    def _enter(self, cluster: ManagedCluster, tolerated_until: datetime | None, now: datetime) -> None:
        name = cluster.name
        self._reach(name, FilterStage.PASSED)
        moments = [tolerated_until]
        for weighted in self.prioritizers:
            weighted.prioritizer.enter(cluster, now)
            moments.append(weighted.prioritizer.until(name))
        self._due_times.set(name, min((moment for moment in moments if moment is not None), default=None))

    def _leave(self, name: str, stage: FilterStage | None) -> None:
        if self._stages.get(name) is FilterStage.PASSED:
            self._due_times.set(name, None)
            for weighted in self.prioritizers:
                weighted.prioritizer.leave(name)
        self._reach(name, stage)

    def _reach(self, name: str, stage: FilterStage | None) -> None:
        before = self._stages.pop(name, None)
        if before is not None:
            self._reached[before] -= 1
        if stage is not None:
            self._stages[name] = stage
            self._reached[stage] += 1

    def _total(self, name: str) -> int:
        return sum(weighted.weight * weighted.prioritizer.score(name) for weighted in self.prioritizers)

    def _problem(self) -> Misconfigured | None:
        """Return what is wrong, in the order in which it is met: each filter looks only where there are clusters."""
        if self._stages and self.predicates.problem is not None:
            return self.predicates.problem
        if self._reached[FilterStage.MATCHED] and self.toleration_problem is not None:
            return self.toleration_problem
        return self.weights_problem

    def _warning(self) -> str:
        warnings = [weighted.prioritizer.warning for weighted in self.prioritizers]
        return next((warning for warning in reversed(warnings) if warning), "")


def _specs(sets: Sequence[ManagedClusterSet]) -> list[tuple[str, object]]:
    return [(cluster_set.name, cluster_set.spec) for cluster_set in sets]

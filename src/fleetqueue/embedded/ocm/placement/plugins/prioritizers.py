"""The prioritizers, which of them a Placement wants, and how much each counts.

Mirrors: OCM pkg/placement/plugins/{addon,balance,resource,steady}, pkg/placement/controllers/scheduling/schedule.go
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from fleetqueue.api.cluster_v1 import SCORE_MAX, AddOnScore, ManagedCluster, Placement, ScoreCoordinate
from fleetqueue.embedded.ocm.placement.plugins.interface import Facts, Misconfigured, Prioritizer
from fleetqueue.rules.allocatable_scores import RESOURCES, allocatable, share_score


class AddOnPrioritizer(Prioritizer):
    """What an add-on says of a cluster in an AddOnPlacementScore; taken as it is.

    A missing score counts 0. So does one that has expired, and then there is a warning.
    """

    def __init__(self, wanted: AddOnScore, facts: Facts) -> None:
        self.name = f"AddOn/{wanted.resource_name}/{wanted.score_name}"
        self._wanted = wanted
        self._facts = facts
        self._scores: dict[str, int] = {}
        self._until: dict[str, datetime] = {}
        self._expired: set[str] = set()

    def enter(self, cluster: ManagedCluster, now: datetime) -> None:
        name = cluster.name
        self.leave(name)
        score = self._facts.score(name, self._wanted.resource_name)
        if score is None:
            return
        if score.is_expired(now):
            self._expired.add(name)
            return
        self._scores[name] = score.value(self._wanted.score_name) or 0
        if score.status.valid_until is not None:
            self._until[name] = score.status.valid_until

    def leave(self, name: str) -> None:
        self._scores.pop(name, None)
        self._until.pop(name, None)
        self._expired.discard(name)

    def score(self, name: str) -> int:
        return self._scores.get(name, 0)

    def until(self, name: str) -> datetime | None:
        return self._until.get(name)

    @property
    def warning(self) -> str:
        if not self._expired:
            return ""
        names = " ".join(f"{name}/{self._wanted.resource_name}" for name in sorted(self._expired))
        return f"AddOnPlacementScores {names} expired in plugin {self.name}"


BALANCE: Final = "Balance"


class Balance(Prioritizer):
    """A cluster that other Placements chose seldom scores high."""

    name = BALANCE

    def __init__(self, facts: Facts) -> None:
        self._decision_counts = facts.decision_counts
        self._placement = facts.placement
        self._highest = 0
        self._position = -1

    def moved(self) -> Iterable[str] | None:
        """Return all where the highest count is another: every score is a share of it."""
        changed = self._decision_counts.changed_since(self._position)
        if changed == []:
            return ()
        self._position = self._decision_counts.position
        before, self._highest = self._highest, self._decision_counts.highest(besides=self._placement)
        return changed if before == self._highest else None

    def score(self, name: str) -> int:
        return balance_score(self._decision_counts.count(name, besides=self._placement), self._highest)


def balance_score(count: int, highest: int) -> int:
    """Return 100 for a cluster that nobody chose, -100 for the one that was chosen most often."""
    if count == 0:
        return SCORE_MAX
    # In this order and cut to an integer before it is doubled, as upstream does: 2 of 5 gives 18, not 20.
    return 2 * int(SCORE_MAX * (0.5 - count / highest))


class Allocatable(Prioritizer):
    """ResourceAllocatableCPU and ResourceAllocatableMemory: a cluster with much to allocate scores high.

    Scores are a share of the way from the cluster with the least to the one with the most.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._resource = RESOURCES[name]
        self._amounts: dict[str, float] = {}
        """Of the clusters that say how much they have; the others score 0."""
        self._sorted: list[float] = []
        self._range = (0.0, 0.0)

    def enter(self, cluster: ManagedCluster, now: datetime) -> None:
        self.leave(cluster.name)
        amount = allocatable(cluster, self._resource)
        if amount is not None:
            self._amounts[cluster.name] = amount
            insort(self._sorted, amount)

    def leave(self, name: str) -> None:
        amount = self._amounts.pop(name, None)
        if amount is not None:
            del self._sorted[bisect_left(self._sorted, amount)]

    def moved(self) -> Iterable[str] | None:
        """Return all where the least or the most is another."""
        before, self._range = self._range, (self._sorted[0], self._sorted[-1]) if self._sorted else (0.0, 0.0)
        return () if before == self._range else None

    def score(self, name: str) -> int:
        amount = self._amounts.get(name)
        return 0 if amount is None else share_score(amount, *self._range)


STEADY: Final = "Steady"


class Steady(Prioritizer):
    """A cluster that is chosen already scores high, so that decisions do not move without need.

    Who enters or leaves the decisions is judged again anyway: see `ranking`.
    """

    name = STEADY

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def score(self, name: str) -> int:
        return SCORE_MAX if name in self._facts.decision_counts.of(self._facts.placement) else 0


ADDITIVE, EXACT = "Additive", "Exact"
DEFAULTS: Final = {BALANCE: 1, STEADY: 1}
"""What counts unless a Placement says otherwise, or names all that counts (Exact)."""


class Weighted(NamedTuple):
    prioritizer: Prioritizer
    weight: int


def wanted_prioritizers(placement: Placement, facts: Facts) -> list[Weighted]:
    """Return the prioritizers that count; raises Misconfigured."""
    return [Weighted(_prioritizer(coordinate, facts), weight) for coordinate, weight in weights(placement) if weight]


def weights(placement: Placement) -> list[tuple[ScoreCoordinate, int]]:
    """Return what a Placement wants with its weights; raises Misconfigured.

    Of two built-in entries with one name the last counts. Add-on entries all count, even equal ones.
    """
    policy = placement.spec.prioritizer_policy
    if policy.mode not in (ADDITIVE, EXACT, ""):
        raise Misconfigured("", f"incorrect prioritizer policy mode: {policy.mode}")
    counted = {} if policy.mode == EXACT else {ScoreCoordinate(built_in=name): w for name, w in DEFAULTS.items()}
    by_add_ons: list[tuple[ScoreCoordinate, int]] = []
    for wanted in policy.configurations:
        if wanted.score_coordinate.add_on is None:
            counted[wanted.score_coordinate] = wanted.weight
        else:
            by_add_ons.append((wanted.score_coordinate, wanted.weight))
    return [*counted.items(), *by_add_ons]


def score_resources(placement: Placement) -> Iterator[str]:
    """Return the names of the AddOnPlacementScores that a Placement looks at."""
    for wanted in placement.spec.prioritizer_policy.configurations:
        coordinate = wanted.score_coordinate
        if coordinate.type != "BuiltIn" and coordinate.add_on is not None:
            yield coordinate.add_on.resource_name


def _prioritizer(coordinate: ScoreCoordinate, facts: Facts) -> Prioritizer:
    if coordinate.type != "BuiltIn":
        if coordinate.add_on is None:
            raise Misconfigured("", "addOn should not be empty")
        return AddOnPrioritizer(coordinate.add_on, facts)
    match coordinate.built_in:
        case "Balance":
            return Balance(facts)
        case "Steady":
            return Steady(facts)
        case name if name in RESOURCES:
            return Allocatable(name)
    raise Misconfigured("", f"incorrect builtin prioritizer: {coordinate.built_in}")

"""Why a Placement chose what it chose: for each cluster the rule that dropped it, or its rank and its score by part."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fleetqueue.api.cluster_v1 import (
    ClusterTaint,
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
)
from fleetqueue.api.conditions import Condition
from fleetqueue.embedded.ocm.placement.eligibility import bound_sets, eligible_sets
from fleetqueue.embedded.ocm.placement.facts import ListedFacts
from fleetqueue.embedded.ocm.placement.plan import planned
from fleetqueue.embedded.ocm.placement.plugins.predicates import PREDICATE
from fleetqueue.embedded.ocm.placement.plugins.selectors import CompileExpression
from fleetqueue.embedded.ocm.placement.plugins.taints import TAINT_TOLERATION
from fleetqueue.embedded.ocm.placement.ranking import Ranking

NO_SET: Final = "ManagedClusterSet"
DELETING: Final = "Deleting"
MISCONFIGURED: Final = "Misconfigured"


@dataclass(frozen=True, slots=True)
class Part:
    """What one prioritizer gives."""

    name: str
    weight: int
    score: int


@dataclass(frozen=True, slots=True)
class Verdict:
    cluster: str
    dropped_by: str = ""
    """The rule that keeps the cluster away; empty for one that has a rank."""
    why: str = ""
    rank: int = 0
    """From 1 for the best."""
    is_selected: bool = False
    total: int = 0
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    conditions: Sequence[Condition]
    warning: str
    verdicts: Sequence[Verdict]
    """Those with a rank first, best first; then the others by name."""


def explain(
    placement: Placement,
    facts: ListedFacts,
    *,
    bindings: Iterable[ManagedClusterSetBinding],
    sets: Iterable[ManagedClusterSet],
    compile_expression: CompileExpression,
    now: datetime,
) -> Explanation:
    """Say what a Placement would choose now, and why; the bindings are those of its namespace."""
    known = {each.name: each for each in sets}
    bound = bound_sets(bindings, known.get)
    eligible = eligible_sets(placement, bound)
    ranking = Ranking(placement, eligible, facts, compile_expression)
    ranking.refresh(facts.names, now)
    outcome = ranking.outcome()
    plan = planned(placement, outcome, bound=bound, sets=eligible, cluster=facts.cluster)
    return Explanation(plan.conditions, outcome.warning, verdicts(ranking, facts.names, now))


def verdicts(ranking: Ranking, names: Iterable[str], now: datetime) -> list[Verdict]:
    """Say of each cluster how far it got in an up-to-date ranking."""
    outcome = ranking.outcome()
    if outcome.problem is not None:
        return [Verdict(name, MISCONFIGURED, str(outcome.problem)) for name in sorted(names)]
    ranked = ranking.order.first(None)
    best = [_ranked(ranking, name, rank, rank <= len(outcome.selected)) for rank, name in enumerate(ranked, 1)]
    return best + [_dropped(ranking, name, now) for name in sorted(set(names) - set(ranked))]


def _ranked(ranking: Ranking, name: str, rank: int, is_selected: bool) -> Verdict:
    parts = [Part(each.prioritizer.name, each.weight, each.prioritizer.score(name)) for each in ranking.prioritizers]
    return Verdict(name, rank=rank, is_selected=is_selected, total=ranking.order.total(name), parts=parts)


def _dropped(ranking: Ranking, name: str, now: datetime) -> Verdict:
    cluster = ranking.facts.cluster(name)
    if cluster is None or not ranking.is_available(cluster):
        return _unavailable(ranking, name, cluster)
    if not ranking.predicates.admit(cluster):
        return Verdict(name, PREDICATE, "no predicate of the placement matches it")
    offence = ranking.tolerance(cluster, now).offence
    return Verdict(name, TAINT_TOLERATION, f"the placement does not tolerate its taint {_taint(offence)}")


def _unavailable(ranking: Ranking, name: str, cluster: ManagedCluster | None) -> Verdict:
    if cluster is None:
        return Verdict(name, NO_SET, "there is no such cluster")
    if cluster.is_deleting:
        return Verdict(name, DELETING, "it is being deleted")
    sets = ", ".join(each.name for each in ranking.sets) or "none"
    return Verdict(name, NO_SET, f"it is in no set that the placement may choose from ({sets})")


def _taint(taint: ClusterTaint | None) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint is not None else ""

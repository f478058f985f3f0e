"""What a Placement chose, best first: pure functions over its decisions and scores."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fleetqueue.api import cluster_v1 as cluster

ScoreOf = Callable[[str, str, str], int | None]
"""From (cluster, score object, score name) to the value, or None where there is none."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The clusters that a Placement wants, best first."""

    clusters: tuple[str, ...] = ()
    scores: Mapping[str, int] = field(default_factory=dict)
    is_decided: bool = True
    """False before the placement controller has said anything: then nothing is dropped."""


def select(
    placement: cluster.Placement, decisions: Iterable[cluster.PlacementDecision], score_of: ScoreOf
) -> Selection:
    """Return what the decisions list, ordered by their own scores, else by recomputed ones, else by name."""
    decisions = list(decisions)
    chosen = {decision.cluster_name: decision.score for d in decisions for decision in d.status.decisions}
    scores = {
        name: score if score is not None else total_score(placement, name, score_of) for name, score in chosen.items()
    }
    ordered = sorted(chosen, key=lambda name: (-scores[name], name))
    return Selection(tuple(ordered), scores, is_decided=bool(decisions))


def total_score(placement: cluster.Placement, name: str, score_of: ScoreOf) -> int:
    """Add up the AddOn prioritizers as OCM does; a missing score counts 0 there, so it does here."""
    return sum(
        config.weight * (score_of(name, add_on.resource_name, add_on.score_name) or 0)
        for config in placement.spec.prioritizer_policy.configurations
        if (add_on := config.score_coordinate.add_on) is not None
    )


def add_on_scores(placement: cluster.Placement) -> list[tuple[str, int]]:
    """Return the names and weights of the AddOn scores that order a Placement's clusters."""
    return [
        (config.score_coordinate.add_on.score_name, config.weight)
        for config in placement.spec.prioritizer_policy.configurations
        if config.score_coordinate.add_on is not None
    ]


def is_eligible(placement: cluster.Placement, member: cluster.ManagedCluster) -> bool:
    """Tell whether a cluster could still be chosen, so that only a better score can have replaced it.

    Where that cannot be known here (a CEL selector), the answer is no, and the decision is followed at once.
    """
    if member.is_deleting or not all(_tolerated(placement, taint) for taint in member.spec.taints):
        return False
    predicates = placement.spec.predicates
    return not predicates or any(_matches(p.required_cluster_selector, member) for p in predicates)


def _matches(selector: cluster.RequiredClusterSelector, member: cluster.ManagedCluster) -> bool:
    claims = {claim.name: claim.value for claim in member.status.cluster_claims}
    return (
        not selector.cel_selector
        and selector.label_selector.matches(member.metadata.labels)
        and selector.claim_selector.matches(claims)
    )


def _tolerated(placement: cluster.Placement, taint: cluster.ClusterTaint) -> bool:
    return taint.effect != "NoSelect" or any(t.tolerates(taint) for t in placement.spec.tolerations)

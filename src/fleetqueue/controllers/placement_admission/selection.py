"""What a Placement chose, best first: pure functions over its decisions and scores."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import find
from fleetqueue.rules.allocatable_scores import RESOURCES, allocatable, share_score

ScoreOf = Callable[[str, str, str], int | None]
"""From (cluster, score object, score name) to the value, or None where there is none."""
ClusterOf = Callable[[str], cluster.ManagedCluster | None]


@dataclass(frozen=True, slots=True)
class Selection:
    """The clusters that a Placement wants, best first."""

    clusters: tuple[str, ...] = ()
    scores: Mapping[str, int] = field(default_factory=dict)
    is_decided: bool = True
    """False before the placement controller has said all that it has to say: then nothing is dropped."""


def select(
    placement: cluster.Placement, decisions: Iterable[cluster.PlacementDecision], scores: Mapping[str, int]
) -> Selection:
    """Return what the decisions list, by the scores of their clusters, else by name."""
    decisions = list(decisions)
    chosen = {decision.cluster_name for d in decisions for decision in d.status.decisions}
    ordered = sorted(chosen, key=lambda name: (-scores.get(name, 0), name))
    return Selection(
        tuple(ordered),
        {name: scores.get(name, 0) for name in ordered},
        is_decided=bool(decisions) and (_are_filled(decisions) or _has_decided(placement, len(chosen))),
    )


def _are_filled(decisions: Iterable[cluster.PlacementDecision]) -> bool:
    return all(decision.status.written is not None for decision in decisions)


def _has_decided(placement: cluster.Placement, chosen: int) -> bool:
    """Tell whether a decision that was never filled is meant to be empty.

    OCM creates decisions, then fills those that are not empty, and last writes the Placement's status.
    """
    is_said = find(placement.status.conditions, cluster.PLACEMENT_SATISFIED) is not None
    return is_said and placement.status.number_of_selected_clusters == chosen


def decided_scores(decisions: Iterable[cluster.PlacementDecision]) -> dict[str, int]:
    """Return the scores that the decisions themselves carry; those of OCM before API v1.3.0 carry none."""
    entries = [decision for d in decisions for decision in d.status.decisions]
    return {decision.cluster_name: decision.score for decision in entries if decision.score is not None}


def recomputed_scores(
    placement: cluster.Placement, names: Collection[str], score_of: ScoreOf, cluster_of: ClusterOf
) -> dict[str, int]:
    """Add up the prioritizers as OCM does, as far as they say something about a single job.

    That is AddOn scores, of which a missing one counts 0, and what clusters have to allocate, from the least to the
    most of these clusters. Steady and Balance are about selections, and do not order jobs.
    """
    totals = dict.fromkeys(names, 0)
    for add_on, weight in _add_ons(placement):
        for name in names:
            totals[name] += weight * (score_of(name, add_on.resource_name, add_on.score_name) or 0)
    for resource, weight in _allocatable(placement).items():
        found = {name: member for name in names if (member := cluster_of(name)) is not None}
        amounts = {name: amount for name, m in found.items() if (amount := allocatable(m, resource)) is not None}
        for name, amount in amounts.items():
            totals[name] += weight * share_score(amount, min(amounts.values()), max(amounts.values()))
    return totals


def _add_ons(placement: cluster.Placement) -> list[tuple[cluster.AddOnScore, int]]:
    configurations = placement.spec.prioritizer_policy.configurations
    return [(add_on, c.weight) for c in configurations if (add_on := c.score_coordinate.add_on) is not None]


def _allocatable(placement: cluster.Placement) -> dict[str, int]:
    """Return the weights of what can be allocated, by resource; of two entries for one resource the last counts."""
    configurations = placement.spec.prioritizer_policy.configurations
    built_in = {c.score_coordinate.built_in: c.weight for c in configurations if c.score_coordinate.add_on is None}
    return {RESOURCES[name]: weight for name, weight in built_in.items() if name in RESOURCES}


def add_on_scores(placement: cluster.Placement) -> list[tuple[str, int]]:
    """Return the names and weights of the AddOn scores that order a Placement's clusters."""
    return [(add_on.score_name, weight) for add_on, weight in _add_ons(placement)]

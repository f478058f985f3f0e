"""What a Placement chose, best first, and what keeps that from following every small change of the scores.

Pure functions over its decisions, its scores and its earlier moves.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import find
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
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
    for add_on, weight in add_on_prioritizers(placement):
        for name in names:
            totals[name] += weight * (score_of(name, add_on.resource_name, add_on.score_name) or 0)
    for resource, weight in _allocatable(placement).items():
        members = {name: member for name in names if (member := cluster_of(name)) is not None}
        amounts = {name: amount for name, m in members.items() if (amount := allocatable(m, resource)) is not None}
        for name, amount in amounts.items():
            totals[name] += weight * share_score(amount, min(amounts.values()), max(amounts.values()))
    return totals


def add_on_prioritizers(placement: cluster.Placement) -> list[tuple[cluster.AddOnScore, int]]:
    """Return the AddOn scores that order a Placement's clusters, with their weights."""
    configurations = placement.spec.prioritizer_policy.configurations
    return [(add_on, c.weight) for c in configurations if (add_on := c.score_coordinate.add_on) is not None]


def _allocatable(placement: cluster.Placement) -> dict[str, int]:
    """Return the weights of what can be allocated, by resource; of two entries for one resource the last counts."""
    configurations = placement.spec.prioritizer_policy.configurations
    built_in = {c.score_coordinate.built_in: c.weight for c in configurations if c.score_coordinate.add_on is None}
    return {RESOURCES[name]: weight for name, weight in built_in.items() if name in RESOURCES}


def add_on_scores(placement: cluster.Placement) -> list[tuple[str, int]]:
    """Return the names and weights of the AddOn scores that order a Placement's clusters."""
    return [(add_on.score_name, weight) for add_on, weight in add_on_prioritizers(placement)]


HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Steadied:
    selection: Selection
    held_back: str = ""
    """Why the decision is not followed yet; empty where it is."""
    again_in: float = 0.0
    """Seconds after which to look again; 0 where only a change can help."""


def steady(
    decided: Selection,
    current: Sequence[str],
    *,
    score_of: Callable[[str], int],
    is_eligible: Callable[[str], bool],
    moves: Sequence[float],
    now: float,
    settings: PlacementAdmissionSettings,
) -> Steadied:
    """Follow the decision, or stay where it moved only for a score and the settings say not yet.

    A move is a swap: as many clusters leave as come, and those that leave could still be chosen. Anything else (a
    label, a taint, a new number of clusters) is what somebody wanted, and is followed at once. `moves` are the times
    of former swaps.
    """
    if not decided.is_decided:
        return Steadied(decided)
    leaving = [name for name in current if name not in decided.clusters]
    coming = [name for name in decided.clusters if name not in current]
    if not leaving or len(leaving) != len(coming) or not all(map(is_eligible, leaving)):
        return Steadied(decided)
    why, again_in = _too_soon(leaving, coming, score_of, moves, now, settings)
    if not why:
        return Steadied(decided)
    kept = [name for name in decided.clusters if name in current] + leaving
    scores: Mapping[str, int] = {name: score_of(name) for name in kept}
    ordered = tuple(sorted(kept, key=lambda name: (-scores[name], name)))
    return Steadied(Selection(ordered, scores), why, again_in)


def _too_soon(
    leaving: Sequence[str],
    coming: Sequence[str],
    score_of: Callable[[str], int],
    moves: Sequence[float],
    now: float,
    settings: PlacementAdmissionSettings,
) -> tuple[str, float]:
    gain = min(map(score_of, coming)) - max(map(score_of, leaving))
    if gain < settings.min_score_gain:
        return f"a gain of {gain} points is less than the {settings.min_score_gain} asked for", 0.0
    if moves and (left := moves[-1] + settings.min_dwell - now) > 0:
        return f"the selection is younger than {settings.min_dwell:g} s", left
    recent = [moment for moment in moves if moment + HOUR > now]
    if settings.max_moves_per_hour and len(recent) >= settings.max_moves_per_hour:
        wait = recent[-settings.max_moves_per_hour] + HOUR - now
        return f"{len(recent)} moves within the hour, {settings.max_moves_per_hour} are allowed", wait
    return "", 0.0

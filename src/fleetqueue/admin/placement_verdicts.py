"""What a Placement makes of every cluster: which rule drops it, or which scores order it; and why it offers none.

Pure functions over listed objects. They judge as OCM does, but for CEL selectors: only decisions show what those say.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.step_commands import labelled, patched, removal
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.fleetqueue import DRAIN_TAINT
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.controllers.placement_admission.messages import no_placement
from fleetqueue.controllers.placement_admission.selection import add_on_prioritizers, recomputed_scores
from fleetqueue.rules.placement_eligibility import matches, tolerance

CHOSEN: Final = "Chosen"
LEAVING: Final = "Leaving"
NOT_IN_SET: Final = "NotInSet"
NOT_MATCHED: Final = "NotMatched"
NOT_JUDGED: Final = "NotJudged"
TAINTED: Final = "Tainted"
OUTSCORED: Final = "Outscored"
NOT_DECIDED: Final = "NotDecided"


@dataclass(frozen=True)
class FleetObjects:
    """What decides over the choice of Placements; None where a kind cannot be seen."""

    clusters: Sequence[cluster.ManagedCluster] | None = None
    sets: Sequence[cluster.ManagedClusterSet] | None = None
    bindings: Sequence[cluster.ManagedClusterSetBinding] | None = None
    placements: Sequence[cluster.Placement] | None = None
    decisions: Sequence[cluster.PlacementDecision] | None = None
    scores: Sequence[cluster.AddOnPlacementScore] | None = None

    def placement(self, name: str, namespace: str) -> cluster.Placement | None:
        found = (one for one in self.placements or () if (one.name, one.namespace) == (name, namespace))
        return next(found, None)

    def chosen(self, placement: cluster.Placement) -> set[str]:
        """Return the clusters that the decisions of a Placement list."""
        lists = (one.status.decisions for one in self.decisions or () if one.placement_key == placement.key)
        return {decision.cluster_name for decisions in lists for decision in decisions}

    def bound(self, namespace: str) -> list[str]:
        """Return the sets that the Placements of a namespace may choose from, whether they exist or not."""
        return sorted(binding.name for binding in self.bindings or () if binding.namespace == namespace)

    def eligible_sets(self, placement: cluster.Placement) -> list[cluster.ManagedClusterSet]:
        """Return the sets that a Placement chooses from."""
        bound, wanted = self.bound(placement.namespace), placement.spec.cluster_sets
        return [one for one in self.sets or () if one.name in bound and (not wanted or one.name in wanted)]

    def score(self, name: str, resource: str) -> cluster.AddOnPlacementScore | None:
        """Return the scores of a cluster that have this name."""
        return self._scores_by_place.get((name, resource))

    @cached_property
    def clusters_by_name(self) -> dict[str, cluster.ManagedCluster] | None:
        """None where they cannot be seen."""
        return None if self.clusters is None else {one.name: one for one in self.clusters}

    @cached_property
    def _scores_by_place(self) -> dict[tuple[str, str], cluster.AddOnPlacementScore]:
        return {(one.namespace, one.name): one for one in self.scores or ()}


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One of the scores that order the clusters of a Placement."""

    name: str
    value: int | None
    """None where the cluster has none, or its time is over: it counts 0 then."""
    weight: int
    valid_until: datetime | None = None
    resource: str = ""
    """The AddOnPlacementScore that it is from."""


@dataclass(frozen=True, slots=True)
class ClusterVerdict:
    cluster: str
    rule: str
    """By which it was chosen or dropped: one of the codes above."""
    why: str
    score: int | None = None
    """All parts together; None where a rule drops it before scores count."""
    rank: int | None = None
    parts: Sequence[ScorePart] = ()

    @property
    def is_chosen(self) -> bool:
        return self.rule == CHOSEN


def verdicts(placement: cluster.Placement, fleet: FleetObjects, now: datetime) -> list[ClusterVerdict]:
    """Judge every cluster of the hub; those that passed first, the best one before the others, then by name."""
    clusters = fleet.clusters_by_name or {}
    chosen, sets = fleet.chosen(placement), fleet.eligible_sets(placement)
    drops = {name: _drop(one, placement, sets, chosen, now) for name, one in clusters.items()}
    passed = [name for name, drop in drops.items() if drop is None]

    def score_of(name: str, resource: str, score_name: str) -> int | None:
        return _value(fleet.score(name, resource), score_name, now)

    totals = recomputed_scores(placement, passed, score_of, clusters.get)
    ranked = sorted(passed, key=lambda name: (name not in chosen, -totals[name], name))
    return [
        *(
            ClusterVerdict(
                name,
                *_outcome(placement, name, chosen),
                score=totals[name],
                rank=rank,
                parts=_parts(name, placement, fleet, now),
            )
            for rank, name in enumerate(ranked, 1)
        ),
        *(ClusterVerdict(name, *drop) for name, drop in sorted(drops.items()) if drop is not None),
    ]


def why_not_chosen(
    names: Collection[str], placements: Iterable[cluster.Placement], fleet: FleetObjects, now: datetime
) -> str:
    """Say of some clusters which rule of these Placements drops each; empty where none does."""
    judged = (one for placement in placements for one in verdicts(placement, fleet, now))
    return "; ".join(f"{one.cluster}: {one.why}" for one in judged if one.cluster in names and not one.is_chosen)


def why_none(name: str, namespace: str, fleet: FleetObjects, now: datetime) -> Cause | None:
    """Say why a Placement offers no cluster, the first thing to mend; None where it offers one, or nobody can tell."""
    if fleet.placements is None:
        return None
    placement = fleet.placement(name, namespace)
    if placement is None:
        return _missing(name, namespace, fleet)
    if fleet.chosen(placement):
        return None
    return _unbound(placement, fleet) or _nobody(placement, fleet, now)


def _missing(name: str, namespace: str, fleet: FleetObjects) -> Cause:
    elsewhere = sorted(one.namespace for one in fleet.placements or () if one.name == name)
    beside = f"; there is one in namespace {elsewhere[0]}, where no check looks for it" if elsewhere else ""
    return Cause(
        "PlacementMissing",
        f"{no_placement(name, namespace)}{beside}",
        f"create it in namespace {namespace}, or name another one in spec.parameters of the AdmissionCheck",
    )


def _unbound(placement: cluster.Placement, fleet: FleetObjects) -> Cause | None:
    """Say that no set can be chosen from, or that those have no clusters."""
    if fleet.bindings is None or fleet.sets is None:
        return None
    bound, wanted, namespace = fleet.bound(placement.namespace), placement.spec.cluster_sets, placement.namespace
    asked = sorted(wanted) or ["SET"]
    if not set(bound) & set(wanted or bound):
        what = f"set {_listed(wanted)}" if wanted else "any set"
        return Cause(
            "SetNotBound",
            f"Placement {placement.name} may not choose from {what}: no ManagedClusterSetBinding in {namespace}",
            f"fleetqueue clusterset bind {asked[0]} --namespace {namespace}",
        )
    sets = fleet.eligible_sets(placement)
    if not sets:
        missing = sorted(set(bound) & set(wanted or bound))
        return Cause(
            "SetMissing",
            f"Placement {placement.name} chooses from set {_listed(missing)}, which does not exist",
            f"fleetqueue clusterset create {missing[0]}",
        )
    members = [one.name for one in fleet.clusters or () if not one.is_deleting and _is_in(one, sets)]
    if fleet.clusters is not None and not members:
        names = [one.name for one in sets]
        return Cause(
            "SetEmpty",
            f"Placement {placement.name} chooses from set {_listed(names)}, and no ManagedCluster is in there",
            f"fleetqueue clusterset set {names[0]} --clusters CLUSTER,...",
        )
    return None


def _nobody(placement: cluster.Placement, fleet: FleetObjects, now: datetime) -> Cause | None:
    """Say which rule has dropped the last of the clusters that could have been chosen."""
    if fleet.clusters is None or fleet.bindings is None or fleet.sets is None:
        return None
    judged = [one for one in verdicts(placement, fleet, now) if one.rule not in (NOT_IN_SET, LEAVING)]
    by_rule = {one.rule: one for one in reversed(judged)}
    if placement.spec.number_of_clusters == 0:
        change = {"spec": {"numberOfClusters": None}}
        step = f"{patched(f'placement {placement.name}', change, placement.namespace)}; or raise it"
        return Cause("NumberIsZero", f"Placement {placement.name} has numberOfClusters 0", step)
    if NOT_DECIDED in by_rule or OUTSCORED in by_rule:
        return Cause(
            "PlacementNotDecided",
            f"Placement {placement.name} has no decision yet, though {_names(judged, NOT_DECIDED, OUTSCORED)} could be"
            " chosen",
            "see whether OCM's placement controller runs, and what the conditions of the Placement say",
        )
    if NOT_JUDGED in by_rule:
        return Cause(
            "NoClusterMatches",
            f"a CEL selector of Placement {placement.name} drops {_names(judged, NOT_JUDGED)}",
            f"compare the clusters with `kubectl -n {placement.namespace} get placement {placement.name} -o yaml`",
        )
    if drained := [one.cluster for one in judged if one.rule == TAINTED and DRAIN_TAINT in one.why]:
        return Cause(
            "ClusterDraining",
            f"Placement {placement.name} drops {_listed(drained)}: tainted with {DRAIN_TAINT}, to be drained",
            f"fleetqueue undrain {drained[0]}; or let the Placement choose further clusters",
        )
    if tainted := by_rule.get(TAINTED):
        return Cause(
            "TaintNotTolerated",
            f"Placement {placement.name} drops {_names(judged, TAINTED)}: {tainted.why}",
            _without_taint(placement, fleet.clusters_by_name or {}, tainted.cluster, now),
        )
    if mismatch := by_rule.get(NOT_MATCHED):
        return Cause(
            "NoClusterMatches",
            f"no cluster matches the predicates of Placement {placement.name}; {mismatch.cluster}: {mismatch.why}",
            _matching(placement, fleet.clusters_by_name or {}, mismatch.cluster),
        )
    return None


def _without_taint(
    placement: cluster.Placement, clusters: Mapping[str, cluster.ManagedCluster], name: str, now: datetime
) -> str:
    """Say how a taint goes: what OCM has set of its own accord is not taken off by hand."""
    taints = clusters[name].spec.taints
    taint = tolerance(clusters[name], placement.spec.tolerations, now, is_chosen=False).offence
    toleration = "or give the Placement a toleration"
    if taint is None or taint.key.startswith(f"{cluster.GROUP}/"):
        return f"mend what the taint is about, {toleration}"
    command = patched(f"managedcluster {name}", removal("/spec/taints", taints.index(taint), "key", taint.key))
    return f"mend what the taint is about, and take it off: `{command}`; {toleration}"


def _matching(placement: cluster.Placement, clusters: Mapping[str, cluster.ManagedCluster], name: str) -> str:
    """Say how a cluster comes to match the first predicate; a command where labels alone are missing."""
    selector, one = placement.spec.predicates[0].required_cluster_selector, clusters[name]
    missing = {
        key: value
        for key, value in selector.label_selector.match_labels.items()
        if one.metadata.labels.get(key) != value
    }
    others = LabelSelector(match_expressions=selector.label_selector.match_expressions)
    with suppress(ValueError):  # it cannot be read
        if missing and matches(others, selector.claim_selector, one):
            command = labelled(f"managedcluster {name}", missing)
            return f"where it is true of {name}: `{command}`; or change spec.predicates"
    return "label a cluster as the Placement asks, or change spec.predicates"


def _drop(
    one: cluster.ManagedCluster,
    placement: cluster.Placement,
    sets: Sequence[cluster.ManagedClusterSet],
    chosen: set[str],
    now: datetime,
) -> tuple[str, str] | None:
    """Return which rule drops a cluster before scores count, and why; None where none does.

    `sets` are those that the Placement chooses from.
    """
    if one.name in chosen:
        return None
    if one.is_deleting:
        return LEAVING, "its ManagedCluster is being deleted"
    if not _is_in(one, sets):
        own = one.metadata.labels.get(cluster.CLUSTER_SET_LABEL, "")
        names = _listed([found.name for found in sets]) or "none"
        return NOT_IN_SET, f"it is in {f'set {own}' if own else 'no set'}, and the Placement chooses from {names}"
    mismatch, is_judged = _mismatch(one, placement)
    if mismatch:
        return NOT_MATCHED, mismatch
    taint = tolerance(one, placement.spec.tolerations, now, is_chosen=False).offence
    if taint is not None:
        value = f"={taint.value}" if taint.value else ""
        return TAINTED, f"taint {taint.key}{value}:{taint.effect} is not tolerated"
    return None if is_judged else (NOT_JUDGED, "a CEL expression of the Placement decides over it")


def _outcome(placement: cluster.Placement, name: str, chosen: set[str]) -> tuple[str, str]:
    if name in chosen:
        return CHOSEN, "the Placement has chosen it"
    number = placement.spec.number_of_clusters
    if number is not None and len(chosen) >= number:
        return OUTSCORED, f"the Placement takes {number}, and others come first by score or name"
    return NOT_DECIDED, "nothing speaks against it, and the Placement has not chosen it yet"


def _mismatch(one: cluster.ManagedCluster, placement: cluster.Placement) -> tuple[str, bool]:
    """Say what of the predicates a cluster does not match, and whether all of them could be judged."""
    selectors = [predicate.required_cluster_selector for predicate in placement.spec.predicates]
    try:
        passing = [s for s in selectors if matches(s.label_selector, s.claim_selector, one)]
        if selectors and not passing:
            return _difference(selectors[0], one), True
    except ValueError as error:
        return f"the selector cannot be read: {error}", True
    return "", not passing or any(not selector.cel_selector for selector in passing)


def _difference(selector: cluster.RequiredClusterSelector, one: cluster.ManagedCluster) -> str:
    """Say in what a cluster differs from a selector; raises ValueError where that cannot be read."""
    differences = [
        *_differences("label", selector.label_selector, one.metadata.labels),
        *_differences("claim", selector.claim_selector, one.claims),
    ]
    return "; ".join(differences)


def _differences(what: str, selector: LabelSelector, values: dict[str, str]) -> Iterable[str]:
    for key, value in selector.match_labels.items():
        if values.get(key) != value:
            yield f"{what} {key} must be {value!r} and is {_said(values, key)}"
    for requirement in selector.match_expressions:
        if not requirement.matches(values):
            asked = f"{requirement.operator} {_listed(requirement.values)}".strip()
            yield f"{what} {requirement.key} must be {asked} and is {_said(values, requirement.key)}"


def _said(values: dict[str, str], key: str) -> str:
    return repr(values[key]) if key in values else "not set"


def _parts(name: str, placement: cluster.Placement, fleet: FleetObjects, now: datetime) -> list[ScorePart]:
    found = [
        (add_on, weight, fleet.score(name, add_on.resource_name)) for add_on, weight in add_on_prioritizers(placement)
    ]
    return [
        ScorePart(
            add_on.score_name,
            _value(score, add_on.score_name, now),
            weight,
            score.status.valid_until if score else None,
            add_on.resource_name,
        )
        for add_on, weight, score in found
    ]


def part_text(part: ScorePart) -> str:
    """Write one score as `gpuClusterAvailable 70`, with its weight where that is not 1."""
    value = "none" if part.value is None else str(part.value)
    weight = f" x {part.weight}" if part.weight != 1 else ""
    until = f" (valid until {timestamp(part.valid_until)})" if part.valid_until else ""
    return f"{part.name} {value}{weight}{until}"


def _value(score: cluster.AddOnPlacementScore | None, name: str, now: datetime) -> int | None:
    return None if score is None or score.is_expired(now) else score.value(name)


def _is_in(one: cluster.ManagedCluster, sets: Iterable[cluster.ManagedClusterSet]) -> bool:
    try:
        return any(found.has(one) for found in sets)
    except ValueError:
        return False


def _names(judged: Iterable[ClusterVerdict], *rules: str) -> str:
    return _listed([one.cluster for one in judged if one.rule in rules])


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")

"""What a Placement's decisions and status should be: the objects that an outcome turns into."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api.cluster_v1 import (
    DECISION_GROUP_INDEX_LABEL,
    DECISION_GROUP_NAME_LABEL,
    PLACEMENT_LABEL,
    ManagedClusterSet,
    Placement,
    PlacementDecision,
)
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import owner_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.placement import messages
from fleetqueue.embedded.ocm.placement.groups import ClusterNamed, Group, grouping
from fleetqueue.embedded.ocm.placement.ranking import Outcome

MOST_DECISIONS: Final = 100
"""In one PlacementDecision; more clusters need more of them."""


@dataclass(frozen=True, slots=True)
class WantedDecision:
    name: str
    labels: Mapping[str, str]
    clusters: Sequence[str]


@dataclass(frozen=True, slots=True)
class Plan:
    decisions: Sequence[WantedDecision]
    selected: int
    groups: Sequence[Manifest]
    """As they stand in the status."""
    conditions: Sequence[Condition]


def planned(
    placement: Placement,
    outcome: Outcome,
    *,
    bound: Sequence[ManagedClusterSet],
    sets: Sequence[ManagedClusterSet],
    cluster: ClusterNamed,
) -> Plan:
    """Return what should be written, given the sets that are bound and those that the Placement may choose from."""
    divided = grouping(outcome.selected, placement.spec.decision_strategy.group_strategy, cluster)
    decisions: list[WantedDecision] = []
    groups: list[Manifest] = []
    for index, group in enumerate(divided.groups):
        made = list(_decisions(placement, group, index, first=len(decisions) + 1))
        decisions += made
        groups.append(_group_status(group, index, made))
    satisfied = _satisfied(placement, outcome, bound, sets)
    misconfigured = messages.misconfigured(divided.problem or outcome.problem)
    return Plan(decisions, len(outcome.selected), groups, [misconfigured, satisfied])


def decision_manifest(placement: Placement, wanted: WantedDecision) -> Manifest:
    """Return a new PlacementDecision; its status is written afterwards."""
    manifest = PlacementDecision.manifest(wanted.name, placement.namespace, labels=dict(wanted.labels))
    manifest["metadata"]["ownerReferences"] = [owner_reference(placement.resource, placement.name, placement.uid)]
    return manifest


def _decisions(placement: Placement, group: Group, index: int, *, first: int) -> Iterator[WantedDecision]:
    labels = {
        PLACEMENT_LABEL: placement.name,
        DECISION_GROUP_INDEX_LABEL: str(index),
        DECISION_GROUP_NAME_LABEL: group.name,
    }
    for number, start in enumerate(range(0, len(group.clusters) or 1, MOST_DECISIONS), first):
        some = group.clusters[start : start + MOST_DECISIONS]
        yield WantedDecision(f"{placement.name}-decision-{number}", labels, some)


def _group_status(group: Group, index: int, decisions: Sequence[WantedDecision]) -> dict[str, Any]:
    return {
        "decisionGroupIndex": index,
        "decisionGroupName": group.name,
        "decisions": [decision.name for decision in decisions],
        "clusterCount": len(group.clusters),
    }


def _satisfied(
    placement: Placement, outcome: Outcome, bound: Sequence[ManagedClusterSet], sets: Sequence[ManagedClusterSet]
) -> Condition:
    if not bound:
        return messages.not_bound()
    if not sets:
        return messages.no_intersection(placement.spec.cluster_sets)
    if not outcome.available:
        return messages.sets_empty(each.name for each in sets)
    if not outcome.selected:
        return messages.nobody_matches()
    return messages.scheduled(outcome.unscheduled)

"""What a Placement's decisions and status should be: the objects that a schedule result turns into.

The selected clusters are divided into decision groups: first those that the Placement names, then the rest.

Mirrors: OCM pkg/placement/controllers/scheduling/scheduling_controller.go
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api.cluster_v1 import (
    DECISION_GROUP_INDEX_LABEL,
    DECISION_GROUP_NAME_LABEL,
    PLACEMENT_LABEL,
    GroupClusterSelector,
    GroupStrategy,
    ManagedCluster,
    ManagedClusterSet,
    Placement,
    PlacementDecision,
)
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.placement import messages
from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured
from fleetqueue.embedded.ocm.placement.plugins.selectors import Selector, label_and_claim_selector
from fleetqueue.embedded.ocm.placement.ranking import ScheduleResult

ClusterNamed = Callable[[str], ManagedCluster | None]


@dataclass(frozen=True, slots=True)
class ClusterDecisionGroup:
    name: str
    clusters: Sequence[str]
    """In the order of their names."""


@dataclass(frozen=True, slots=True)
class Grouping:
    groups: Sequence[ClusterDecisionGroup]
    problem: Misconfigured | None = None
    """Why clusters are missing; then there are only the groups made before it was met."""


def grouping(selected: Iterable[str], strategy: GroupStrategy, cluster: ClusterNamed) -> Grouping:
    """Divide the selected clusters; there is always a group, if only an empty one, unless something is wrong."""
    rest = sorted(selected)
    groups: list[ClusterDecisionGroup] = []
    try:
        length = group_length(strategy.clusters_per_decision_group, len(rest))
        for wanted in strategy.decision_groups:
            matches = _matching(wanted.group_cluster_selector)
            chosen = {
                name for name in rest if (managed_cluster := cluster(name)) is not None and matches(managed_cluster)
            }
            groups += divided(wanted.group_name, [name for name in rest if name in chosen], length)
            rest = [name for name in rest if name not in chosen]
    except Misconfigured as problem:
        return Grouping(groups, problem)
    groups += divided("", rest, length)
    return Grouping(groups or [ClusterDecisionGroup("", ())])


def group_length(wanted: int | str, total: int) -> int:
    """Return how many clusters a group has at most; raises Misconfigured."""
    length = _share(wanted, total) if isinstance(wanted, str) else wanted
    return length if 0 < length <= total else total


def divided(name: str, clusters: Sequence[str], length: int) -> Iterator[ClusterDecisionGroup]:
    for start in range(0, len(clusters), max(length, 1)):
        yield ClusterDecisionGroup(name, clusters[start : start + length])


def _share(wanted: str, total: int) -> int:
    try:
        if not wanted.endswith("%"):
            raise ValueError(wanted)
        return math.ceil(float(wanted[:-1]) / 100 * total)
    except ValueError:
        raise Misconfigured("", f"{wanted} invalid type: string is not a percentage") from None


def _matching(selector: GroupClusterSelector) -> Selector:
    try:
        return label_and_claim_selector(selector.label_selector, selector.claim_selector)
    except ValueError as error:
        raise Misconfigured("", str(error)) from None


MOST_DECISIONS: Final = 100
"""In one PlacementDecision; more clusters need more of them."""


@dataclass(frozen=True, slots=True)
class WantedDecision:
    name: str
    labels: Mapping[str, str]
    clusters: Sequence[str]


@dataclass(frozen=True, slots=True)
class DecisionPlan:
    decisions: Sequence[WantedDecision]
    selected: int
    groups: Sequence[Manifest]
    """As they stand in the status."""
    conditions: Sequence[Condition]


def planned(
    placement: Placement,
    result: ScheduleResult,
    *,
    bound: Sequence[ManagedClusterSet],
    sets: Sequence[ManagedClusterSet],
    cluster: ClusterNamed,
) -> DecisionPlan:
    """Return what should be written, given the sets that are bound and those that the Placement may choose from."""
    divided = grouping(result.selected, placement.spec.decision_strategy.group_strategy, cluster)
    decisions: list[WantedDecision] = []
    groups: list[Manifest] = []
    for index, group in enumerate(divided.groups):
        made = list(_decisions(placement, group, index, first=len(decisions) + 1))
        decisions += made
        groups.append(_group_status(group, index, made))
    satisfied = _satisfied(placement, result, bound, sets)
    misconfigured = messages.misconfigured(divided.problem or result.problem)
    return DecisionPlan(decisions, len(result.selected), groups, [misconfigured, satisfied])


def decision_manifest(placement: Placement, wanted: WantedDecision) -> Manifest:
    """Return a new PlacementDecision; its status is written afterwards."""
    manifest = PlacementDecision.manifest(wanted.name, placement.namespace, labels=dict(wanted.labels))
    manifest["metadata"]["ownerReferences"] = [controller_reference(placement.resource, placement.name, placement.uid)]
    return manifest


def _decisions(
    placement: Placement, group: ClusterDecisionGroup, index: int, *, first: int
) -> Iterator[WantedDecision]:
    labels = {
        PLACEMENT_LABEL: placement.name,
        DECISION_GROUP_INDEX_LABEL: str(index),
        DECISION_GROUP_NAME_LABEL: group.name,
    }
    for number, start in enumerate(range(0, len(group.clusters) or 1, MOST_DECISIONS), first):
        clusters = group.clusters[start : start + MOST_DECISIONS]
        yield WantedDecision(f"{placement.name}-decision-{number}", labels, clusters)


def _group_status(group: ClusterDecisionGroup, index: int, decisions: Sequence[WantedDecision]) -> dict[str, Any]:
    return {
        "decisionGroupIndex": index,
        "decisionGroupName": group.name,
        "decisions": [decision.name for decision in decisions],
        "clusterCount": len(group.clusters),
    }


def _satisfied(
    placement: Placement, result: ScheduleResult, bound: Sequence[ManagedClusterSet], sets: Sequence[ManagedClusterSet]
) -> Condition:
    if not bound:
        return messages.not_bound()
    if not sets:
        return messages.no_intersection(placement.spec.cluster_sets)
    if not result.available:
        return messages.sets_empty(cluster_set.name for cluster_set in sets)
    if not result.selected:
        return messages.nobody_matches()
    return messages.scheduled(result.unscheduled)

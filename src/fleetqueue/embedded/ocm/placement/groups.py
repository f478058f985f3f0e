"""Selected clusters divided into decision groups: first those that a Placement names, then the rest.

Mirrors: OCM pkg/placement/controllers/scheduling/scheduling_controller.go
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fleetqueue.api.cluster_v1 import GroupClusterSelector, GroupStrategy, ManagedCluster
from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured
from fleetqueue.embedded.ocm.placement.plugins.selectors import Selector, label_and_claim_selector

ClusterNamed = Callable[[str], ManagedCluster | None]


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    clusters: Sequence[str]
    """In the order of their names."""


@dataclass(frozen=True, slots=True)
class Grouping:
    groups: Sequence[Group]
    problem: Misconfigured | None = None
    """Why clusters are missing; then there are only the groups made before it was met."""


def grouping(selected: Iterable[str], strategy: GroupStrategy, cluster: ClusterNamed) -> Grouping:
    """Divide the selected clusters; there is always a group, if only an empty one, unless something is wrong."""
    rest = sorted(selected)
    groups: list[Group] = []
    try:
        length = group_length(strategy.clusters_per_decision_group, len(rest))
        for wanted in strategy.decision_groups:
            matches = _matching(wanted.group_cluster_selector)
            chosen = {name for name in rest if (found := cluster(name)) is not None and matches(found)}
            groups += divided(wanted.group_name, [name for name in rest if name in chosen], length)
            rest = [name for name in rest if name not in chosen]
    except Misconfigured as problem:
        return Grouping(groups, problem)
    groups += divided("", rest, length)
    return Grouping(groups or [Group("", ())])


def group_length(wanted: int | str, total: int) -> int:
    """Return how many clusters a group has at most; raises Misconfigured."""
    length = _share(wanted, total) if isinstance(wanted, str) else wanted
    return length if 0 < length <= total else total


def divided(name: str, clusters: Sequence[str], length: int) -> Iterator[Group]:
    for start in range(0, len(clusters), max(length, 1)):
        yield Group(name, clusters[start : start + length])


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

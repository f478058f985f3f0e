"""Nodes as topology-aware scheduling sees them, and which of them the pods of a pod set may run on.

Mirrors: Kueue pkg/cache/scheduler/tas_nodes_cache.go, scheduling_simulator_default.go
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fleetqueue.api.core_v1 import Node, NodeSelectorTerm, PodSpec
from fleetqueue.api.taints import Taint, Toleration, is_tolerated
from fleetqueue.embedded.kueue.scheduling.amounts import Requests, amount
from fleetqueue.embedded.kueue.topology.exclusions import Exclusions
from fleetqueue.rules.node_affinity import matches_a_term


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """What of a node matters; two that are equal are alike for every placement."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Taint]
    allocatable: Requests

    def belongs_to(self, labels: Mapping[str, str], levels: Iterable[str]) -> bool:
        """Tell whether a flavor with such labels has the node, and the node a value for each level."""
        return all(self.labels.get(key, "") == value for key, value in labels.items()) and all(
            level in self.labels for level in levels
        )


def usable(node: Node) -> TopologyNode | None:
    """Return a node that pods can be placed on: one that is ready and not cordoned."""
    if node.spec.unschedulable or not node.is_ready:
        return None
    allocatable = {name: amount(name, value) for name, value in node.status.allocatable.items()}
    return TopologyNode(node.name, node.metadata.labels, node.spec.taints, allocatable)


@dataclass(frozen=True, slots=True)
class NodeNeeds:
    """What pods ask of their nodes, beside resources. Pod sets that ask for the same share what was found."""

    selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    """One of which a node must match; None where any node will do."""

    @classmethod
    def of(
        cls, spec: PodSpec, tolerations: Iterable[Toleration] = (), selector: Mapping[str, str] | None = None
    ) -> "NodeNeeds":
        """Return what the pods of a template need, with what others add to it."""
        required = spec.affinity.node_affinity.required
        return cls(
            tuple(sorted({**spec.node_selector, **(selector or {})}.items())),
            (*spec.tolerations, *tolerations),
            required.node_selector_terms if required is not None else None,
        )

    def are_met_by(self, node: TopologyNode, exclusions: Exclusions) -> bool:
        """Judge a node; where it is left out, note why."""
        for taint in node.taints:
            if taint.keeps_out and not is_tolerated(taint, self.tolerations):
                exclusions.taints[_written(taint)] += 1
                return False
        if any(node.labels.get(key) != value for key, value in self.selector):
            exclusions.node_selector += 1
            return False
        if self.terms is not None and not matches_a_term(self.terms, node.name, node.labels):
            exclusions.affinity += 1
            return False
        return True


def _written(taint: Taint) -> str:
    key = f"{taint.key}={taint.value}" if taint.value else taint.key
    return f"{key}:{taint.effect}"

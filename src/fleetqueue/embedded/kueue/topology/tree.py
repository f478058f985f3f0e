"""The tree of a topology's domains, from the largest to single nodes, and what is free in the smallest.

The shape is made once of a set of nodes. What is free changes with every pod and every Workload, and is kept in the
leaves; `counting` keeps what that means for pods of one kind, and is told which leaves have changed.

Mirrors: Kueue pkg/cache/scheduler/tas_topology_tree.go
"""

from collections.abc import Iterable, Sequence
from typing import Final

from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.embedded.kueue.scheduling.amounts import PODS, Requests
from fleetqueue.embedded.kueue.topology.exclusions import Exclusions
from fleetqueue.embedded.kueue.topology.nodes import NodeNeeds, TopologyNode

Values = tuple[str, ...]
"""The values of the levels' labels, from the highest level down."""
UNLIMITED: Final = 2**31 - 1
KINDS_OF_NEEDS: Final = 256
"""For so many different needs it is remembered which nodes meet them."""


class Domain:
    __slots__ = ("children", "parent", "place", "values")

    def __init__(self, values: Values) -> None:
        self.values = values
        self.parent: Domain | None = None
        self.children: list[Domain] = []
        self.place = 0
        """Its place in the order of all domains of its level."""


class Leaf(Domain):
    __slots__ = ("followers", "free", "key", "node", "remaining")

    def __init__(self, values: Values, key: Values, node: TopologyNode | None, followers: list[set["Leaf"]]) -> None:
        super().__init__(values)
        self.key = key
        """How assignments name it: by its values, or by the host name alone."""
        self.node = node
        """Only where the lowest level is the node."""
        self.free: Requests = {}
        """What it has beside pods that topology-aware scheduling does not place."""
        self.remaining: Requests = {}
        """What is left of that beside the pods of Workloads."""
        self.followers = followers
        """Sets that a leaf joins when it changes; the same for all leaves of a tree."""

    def occupy(self, requests: Requests, sign: int = 1) -> None:
        """Take what pods use that are not placed by us; with -1 give it back."""
        _add(self.free, requests, -sign)
        self.use(requests, sign)

    def use(self, requests: Requests, sign: int = 1) -> None:
        """Take what the pods of a Workload use; with -1 give it back."""
        _add(self.remaining, requests, -sign)
        for changed in self.followers:
            changed.add(self)


class Tree:
    def __init__(self, levels: Sequence[str], nodes: Iterable[TopologyNode]) -> None:
        self.levels = tuple(levels)
        self.is_of_nodes = self.levels[-1:] == (HOSTNAME,)
        self.by_level: list[dict[Values, Domain]] = [{} for _ in self.levels]
        self.leaves: dict[Values, Leaf] = {}
        self.of_node: dict[str, Leaf] = {}
        self.followers: list[set[Leaf]] = []
        self._feasible: dict[NodeNeeds, tuple[Sequence[Leaf], Exclusions]] = {}
        for node in sorted(nodes, key=lambda one: one.name):
            self._add(node)
        for domains in self.by_level:
            for place, domain in enumerate(sorted(domains.values(), key=lambda one: one.values)):
                domain.place = place

    def level(self, label: str) -> int | None:
        return self.levels.index(label) if label in self.levels else None

    @property
    def lowest(self) -> str:
        return self.levels[-1]

    @property
    def highest(self) -> str:
        return self.levels[0]

    def feasible(self, needs: NodeNeeds) -> tuple[Sequence[Leaf], Exclusions]:
        """Return the leaves whose nodes meet some needs; only where leaves are nodes are these looked at."""
        known = self._feasible.get(needs)
        if known is None:
            if len(self._feasible) >= KINDS_OF_NEEDS:
                self._feasible.clear()
            known = self._feasible[needs] = self._judged(needs)
        leaves, exclusions = known
        return leaves, exclusions.copy()

    def _judged(self, needs: NodeNeeds) -> tuple[Sequence[Leaf], Exclusions]:
        exclusions = Exclusions(total=len(self.leaves))
        leaves = [leaf for leaf in self.leaves.values() if leaf.node is None or needs.are_met_by(leaf.node, exclusions)]
        return leaves, exclusions

    def _add(self, node: TopologyNode) -> None:
        values = tuple(node.labels[level] for level in self.levels)
        key = values[-1:] if self.is_of_nodes else values
        leaf = self.leaves.get(key)
        if leaf is None:
            leaf = self.leaves[key] = Leaf(values, key, node if self.is_of_nodes else None, self.followers)
            self.by_level[-1][key] = leaf
            self._connect(leaf)
        leaf.occupy(node.allocatable, -1)
        self.of_node[node.name] = leaf

    def _connect(self, domain: Domain) -> None:
        values = domain.values[:-1]
        if not values:
            return
        level = self.by_level[len(values) - 1]
        parent = level.get(values)
        if parent is None:
            parent = level[values] = Domain(values)
            self._connect(parent)
        domain.parent = parent
        parent.children.append(domain)


def times(requests: Requests, capacity: Requests) -> int:
    """Return how often something fits; what asks for nothing never does."""
    counts = (max(0, capacity.get(name, 0) // value) if value else UNLIMITED for name, value in requests.items())
    return min(counts, default=0)


def with_place(requests: Requests) -> Requests:
    """Return what one pod takes of a node: what it asks for, and a place."""
    return {**requests, PODS: requests.get(PODS, 0) + 1}


def of_pods(requests: Requests, count: int) -> Requests:
    """Return what so many pods take of their nodes."""
    return {name: value * count for name, value in with_place(requests).items()}


def _add(total: Requests, more: Requests, sign: int) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + sign * value

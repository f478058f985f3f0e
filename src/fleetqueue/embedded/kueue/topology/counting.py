"""Count how many pods and slices of one kind fit into each domain: into the nodes, and level by level above them.

A count is kept for the next pods of the same kind. Of the nodes only those are looked at again of which something was
taken since, or given back: most placements touch few of many nodes.

A leader is one pod of another pod set that must be in the same domain as the workers. What fits beside it is counted
apart: a domain loses as little to it as its best child does.

Mirrors: Kueue pkg/cache/scheduler/tas_flavor_snapshot.go (fillInCounts)
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.topology.exclusions import Exclusions
from fleetqueue.embedded.kueue.topology.nodes import NodeNeeds
from fleetqueue.embedded.kueue.topology.tree import UNLIMITED, Leaf, Tree, Values

Amounts = tuple[tuple[str, int], ...]
"""Requests of one pod, in the order of the names."""


def amounts(requests: Requests) -> Amounts:
    return tuple(sorted(requests.items()))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pods of one kind: what they ask for, and what they are counted in."""

    pod: Amounts
    needs: NodeNeeds
    slice_level: int
    slice_size: int
    inner_sizes: tuple[tuple[int, int], ...] = ()
    """The sizes of inner slices, by level."""
    leader: Amounts | None = None
    as_if_empty: bool = False
    """Whether the pods of all Workloads are thought away."""
    within: Values = ()
    """The domain that a replacement must stay in."""


class CountedDomain:
    """How many pods fit into a domain; while they are given away, how many it is given. So with slices."""

    __slots__ = (
        "children",
        "leaders",
        "parent",
        "place",
        "pods",
        "pods_with_leader",
        "slices",
        "slices_with_leader",
        "values",
    )

    def __init__(self, values: Values, place: int) -> None:
        self.values = values
        self.place = place
        self.parent: CountedDomain | None = None
        self.children: list[CountedDomain] = []
        self.pods = 0
        self.pods_with_leader = 0
        self.slices = 0
        self.slices_with_leader = 0
        self.leaders = 0

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        return self.pods, self.pods_with_leader, self.slices, self.slices_with_leader, self.leaders

    @counts.setter
    def counts(self, counts: tuple[int, int, int, int, int]) -> None:
        self.pods, self.pods_with_leader, self.slices, self.slices_with_leader, self.leaders = counts


class CountedTree:
    def __init__(self, tree: Tree, wanted: Wanted) -> None:
        self.levels = tree.levels
        self.changed: set[Leaf] = set()
        """Leaves that are to be counted again."""
        self._wanted = wanted
        self._sizes: Mapping[int, int] = dict(wanted.inner_sizes)
        self._saved: list[tuple[CountedDomain, tuple[int, int, int, int, int]]] = []
        self._scarce: Counter[str] = Counter()
        self._scarce_in: dict[Leaf, str] = {}
        leaves, self._exclusions = tree.feasible(wanted.needs)
        self.by_level = self._cloned(tree)
        inside = [leaf for leaf in leaves if leaf.values[: len(wanted.within)] == wanted.within]
        self._exclusions.domain += len(leaves) - len(inside)
        self._counted = {leaf: self.by_level[-1][leaf.place] for leaf in inside}
        self._count(inside, [domain for level in self.by_level[:-1] for domain in level])

    @property
    def exclusions(self) -> Exclusions:
        """Which nodes were left out."""
        exclusions = self._exclusions.copy()
        exclusions.resources.update(self._scarce)
        return exclusions

    def refresh(self) -> None:
        """Count again what has changed."""
        leaves = [leaf for leaf in self.changed if leaf in self._counted]
        self.changed.clear()
        above: dict[CountedDomain, int] = {}
        for leaf in leaves:
            domain, level = self._counted[leaf].parent, len(self.levels) - 2
            while domain is not None and domain not in above:
                above[domain] = level
                domain, level = domain.parent, level - 1
        self._count(leaves, above)

    def save(self, domain: CountedDomain) -> None:
        """Note what is counted of a domain before pods are given to it."""
        self._saved.append((domain, domain.counts))

    def restore(self) -> None:
        """Bring back what was counted before pods were given away."""
        for domain, counts in reversed(self._saved):
            domain.counts = counts
        self._saved.clear()

    def _cloned(self, tree: Tree) -> list[list[CountedDomain]]:
        """Return domains as those of the tree, by their places; every level in its order."""
        cloned: list[list[CountedDomain]] = []
        for domains in tree.by_level:
            level = [
                CountedDomain(one.values, one.place) for one in sorted(domains.values(), key=lambda one: one.place)
            ]
            for one in domains.values():
                if one.parent is not None:
                    level[one.place].parent = parent = cloned[-1][one.parent.place]
                    parent.children.append(level[one.place])
            cloned.append(level)
        return cloned

    def _count(self, leaves: Iterable[Leaf], above: Iterable[CountedDomain]) -> None:
        lowest = len(self.levels) - 1
        for leaf in leaves:
            domain = self._counted[leaf]
            self._count_leaf(leaf, domain)
            self._count_slices(domain, lowest)
        for domain in sorted(above, key=lambda one: -len(one.values)):
            self._add_up(domain)

    def _count_leaf(self, leaf: Leaf, domain: CountedDomain) -> None:
        wanted = self._wanted
        room = leaf.free if wanted.as_if_empty else leaf.remaining
        domain.pods, scarce = _times(wanted.pod, room)
        self._note_scarce(leaf, "" if domain.pods else scarce)
        domain.leaders, domain.pods_with_leader = 0, domain.pods
        if wanted.leader is not None and _times(wanted.leader, room)[0] > 0:
            domain.leaders = 1
            domain.pods_with_leader, _ = _times(wanted.pod, _without(room, wanted.leader))

    def _note_scarce(self, leaf: Leaf, resource: str) -> None:
        before = self._scarce_in.get(leaf, "")
        if before == resource:
            return
        self._scarce_in[leaf] = resource
        if before:
            self._scarce[before] -= 1
            self._scarce += Counter()  # drops what is zero
        if resource:
            self._scarce[resource] += 1

    def _count_slices(self, domain: CountedDomain, level: int) -> None:
        if level == self._wanted.slice_level:
            domain.slices = domain.pods // self._wanted.slice_size
            domain.slices_with_leader = domain.pods_with_leader // self._wanted.slice_size

    def _add_up(self, domain: CountedDomain) -> None:
        """Count a domain by its children; each of them counts only in whole slices of the inner layer."""
        inner_size, needs_leader = self._sizes.get(len(domain.values), 1), self._wanted.leader is not None
        pods = slices = leaders = 0
        lost_pods = lost_slices = UNLIMITED
        for child in domain.children:
            whole = child.pods - child.pods % inner_size
            pods += whole
            slices += child.slices
            if not needs_leader or child.leaders:
                beside_leader = child.pods_with_leader - child.pods_with_leader % inner_size
                lost_pods = min(lost_pods, whole - beside_leader)
                lost_slices = min(lost_slices, child.slices - child.slices_with_leader)
            leaders = max(leaders, child.leaders)
        can_lead = lost_pods < UNLIMITED
        domain.counts = (
            pods,
            pods - lost_pods if can_lead else 0,
            slices,
            slices - lost_slices if can_lead else 0,
            leaders,
        )
        self._count_slices(domain, len(domain.values) - 1)


class CountedTrees:
    """The counts of one tree for the kinds of pods that were last asked for."""

    def __init__(self, tree: Tree, kinds: int = 32) -> None:
        self._tree = tree
        self._kinds = kinds
        self._counted: dict[Wanted, CountedTree] = {}

    def of(self, wanted: Wanted) -> CountedTree:
        """Return what fits now."""
        if wanted.within:
            return CountedTree(self._tree, wanted)  # a node failed: hardly ever the same again
        counted = self._counted.pop(wanted, None)
        if counted is None:
            counted = CountedTree(self._tree, wanted)
            self._tree.followers.append(counted.changed)
            if len(self._counted) >= self._kinds:
                oldest = self._counted.pop(next(iter(self._counted)))
                self._tree.followers[:] = [one for one in self._tree.followers if one is not oldest.changed]
        else:
            counted.refresh()
        self._counted[wanted] = counted
        return counted


def _times(wanted: Sequence[tuple[str, int]], room: Requests) -> tuple[int, str]:
    """Return how often something fits, and the resource of which there is least; of two the first in their order."""
    most, scarce = UNLIMITED, ""
    for name, value in wanted:
        count = room.get(name, 0) // value if value else UNLIMITED
        if count < 0:
            count = 0  # more is used than there is, since the node has shrunk
        if count < most or not scarce:
            most, scarce = min(count, UNLIMITED), name
    return (most, scarce) if wanted else (0, "")


def _without(room: Requests, used: Amounts) -> Requests:
    left = dict(room)
    for name, value in used:
        left[name] = left.get(name, 0) - value
    return left

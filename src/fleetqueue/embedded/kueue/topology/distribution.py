"""Give the pods to domains: as few as can be on every level, down to the lowest.

From here on the counts of the domains that are returned say how many pods each of them is given.

Mirrors: Kueue pkg/cache/scheduler/tas_flavor_snapshot.go (updateCountsToMinimumGeneric)
"""

from dataclasses import dataclass

from fleetqueue.embedded.kueue.topology.counting import CountedDomain, CountedTree
from fleetqueue.embedded.kueue.topology.order import best_fit, leader_first, ordered, room
from fleetqueue.embedded.kueue.topology.requests import PlacementParameters


def distribute(
    tree: CountedTree, asked: PlacementParameters, level: int, domains: list[CountedDomain]
) -> list[CountedDomain]:
    """Go down from the domains that were chosen; return those of the lowest level."""
    last = len(tree.levels) - 1
    least_first = asked.is_unconstrained
    outer = Fewest(tree, asked.slice_size, least_first=least_first, by_slices=True)
    domains = outer.of(domains, asked.count, asked.leaders)
    while level < min(last, asked.slice_level):
        children = [child for domain in domains for child in domain.children]
        domains = outer.of(ordered(children, least_first=least_first), asked.count, asked.leaders)
        level += 1
    while level < last:
        size = asked.size_at_level.get(level + 1, 1)
        domains = [child for domain in domains for child in _children(tree, domain, size, least_first=least_first)]
        level += 1
    return domains


def _children(tree: CountedTree, domain: CountedDomain, size: int, *, least_first: bool) -> list[CountedDomain]:
    """Give to the children of a domain what it was given, in whole slices of the inner layer."""
    children = ordered(domain.children, least_first=least_first)
    if size > 1:  # what was counted are slices of the outermost layer
        for child in children:
            tree.save(child)
            child.slices = child.pods // size
            child.slices_with_leader = child.pods_with_leader // size
    return Fewest(tree, size, least_first=least_first, by_slices=size > 1).of(children, domain.pods, domain.leaders)


@dataclass(frozen=True, slots=True)
class Fewest:
    """Take domains one after the other until all is given away."""

    tree: CountedTree
    size: int
    """How many pods a slice has."""
    least_first: bool
    by_slices: bool

    def of(self, domains: list[CountedDomain], count: int, leaders: int) -> list[CountedDomain]:
        """Return the domains that are needed, in their order, with what each is given; none if it cannot be."""
        left = count // self.size if self.by_slices else count
        domains = leader_first(domains, left, leaders, by_slices=self.by_slices)
        taken: list[CountedDomain] = []
        for place, first in enumerate(domains):
            one = first
            is_last = room(one, leaders, by_slices=self.by_slices) >= left and one.leaders >= leaders
            if is_last and not self.least_first:
                one = best_fit(domains[place:], left, leaders, by_slices=self.by_slices)
            given = min(room(one, leaders, by_slices=self.by_slices), left)
            given_leaders = min(one.leaders, leaders)
            taken.append(one)
            is_last = given == left and given_leaders == leaders
            self._give(one, given, given_leaders)
            if is_last:
                return taken
            left -= given
            leaders -= given_leaders
        return []

    def _give(self, one: CountedDomain, count: int, leaders: int) -> None:
        self.tree.save(one)
        one.leaders = leaders
        one.pods = count * self.size if self.by_slices else count
        if self.by_slices:
            one.slices = count

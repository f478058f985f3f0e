"""Place the pods of pod sets: find the domains, and say where each pod set's pods are.

Mirrors: Kueue pkg/cache/scheduler/tas_flavor_snapshot.go (findTopologyAssignment, buildAssignment)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from fleetqueue.api.kueue_topology import PodsInDomain, TopologyAssignment
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.topology.counting import CountedDomain, CountedTrees, Wanted, amounts
from fleetqueue.embedded.kueue.topology.distribution import distribute
from fleetqueue.embedded.kueue.topology.requests import PlacementRequest, parameters
from fleetqueue.embedded.kueue.topology.selection import Selection
from fleetqueue.embedded.kueue.topology.tree import Tree, Values, of_pods, with_place
from fleetqueue.embedded.kueue.versions_topology import sliced


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the pods of a pod set are."""

    levels: tuple[str, ...]
    """All levels of the topology; the node alone where that is the lowest."""
    domains: tuple[PodsInDomain, ...]

    @classmethod
    def of(cls, assignment: TopologyAssignment) -> "Placement":
        return cls(assignment.levels, tuple(assignment.domains))

    @property
    def manifest(self) -> Manifest:
        """As it is written into a Workload's admission."""
        domains = [{"values": [*domain.values], "count": domain.pods} for domain in self.domains]
        return sliced({"levels": [*self.levels], "domains": domains})

    @property
    def counts(self) -> Mapping[Values, int]:
        """How many pods are in each domain."""
        total: Counter[Values] = Counter()
        for domain in self.domains:
            total[domain.values] += domain.pods
        return total


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a placement has to take into account, beside what is asked for."""

    topology: str
    tree: Tree
    counted: CountedTrees
    assumed: dict[Values, Requests]
    """What earlier pod sets of the same Workload will use. Placements are added to it."""
    as_if_empty: bool = False

    def assume(self, placement: Placement, single_pod: Requests) -> None:
        for domain in placement.domains:
            total = self.assumed.setdefault(domain.values, {})
            for name, value in of_pods(single_pod, domain.pods).items():
                total[name] = total.get(name, 0) + value

    @contextmanager
    def with_assumed(self) -> Iterator[None]:
        """Look at the leaves as if what is assumed were so."""
        taken = [(leaf, used) for key, used in self.assumed.items() if (leaf := self.tree.leaves.get(key)) is not None]
        for leaf, used in taken:
            leaf.occupy(used)
        try:
            yield
        finally:
            for leaf, used in taken:
                leaf.occupy(used, -1)


def place(
    where: Surroundings, workers: PlacementRequest, leader: PlacementRequest | None = None, within: Values = ()
) -> dict[str, Placement]:
    """Place the pods of a pod set, and with them those of its leader; raises NotPlaced where they do not fit."""
    asked = parameters(where.tree, workers, leaders=0 if leader is None else 1)
    wanted = Wanted(
        pod=amounts(with_place(workers.single_pod)),
        needs=workers.needs,
        slice_level=asked.slice_level,
        slice_size=asked.slice_size,
        inner_sizes=tuple(asked.size_at_level.items()),
        leader=None if leader is None else amounts(with_place(leader.single_pod)),
        as_if_empty=where.as_if_empty,
        within=within,
    )
    with where.with_assumed():
        counted = where.counted.of(wanted)
    level, domains = Selection(where.topology, counted, asked).domains(asked.level)
    try:
        given = distribute(counted, asked, level, domains)
        placements = {workers.name: _placement(where.tree, ((domain, domain.pods) for domain in given))}
        if leader is not None:
            placements[leader.name] = _placement(where.tree, ((domain, domain.leaders) for domain in given))
    finally:
        counted.restore()
    return placements


def _placement(tree: Tree, given: Iterable[tuple[CountedDomain, int]]) -> Placement:
    """Name the domains in their order."""
    first = len(tree.levels) - 1 if tree.is_of_nodes else 0
    domains = sorted(((domain.values, pods) for domain, pods in given if pods), key=lambda pair: pair[0])
    return Placement(tree.levels[first:], tuple(PodsInDomain(values[first:], pods) for values, pods in domains))

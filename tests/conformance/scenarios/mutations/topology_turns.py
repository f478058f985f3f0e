"""Rules of what the heads of one cycle leave each other of the nodes.

Three of them are what Kueue 0.19.2 does not look at: with them wrong, nodes would hold no more than they have.
"""

from collections import Counter
from collections.abc import Iterable

from fleetqueue.embedded.kueue.scheduling.cohorts import Queue
from fleetqueue.embedded.kueue.scheduling.queue_usage import Quantities
from fleetqueue.embedded.kueue.topology.flavor_topology import DomainUsage, FlavorTopology, TopologyUsage
from fleetqueue.embedded.kueue.topology.tree import times, with_place

from .mutation import Mutation, always


def _fits_with_places(self: FlavorTopology, usage: Iterable[DomainUsage]) -> bool:
    leaves = ((self.tree.leaves[one.values], one) for one in usage)
    return all(times(with_place(one.single_pod), leaf.remaining) >= one.count for leaf, one in leaves)


def _fits_together(self: FlavorTopology, usage: Iterable[DomainUsage]) -> bool:
    wanted: dict[tuple[str, ...], Counter[str]] = {}
    for one in usage:
        wanted.setdefault(one.values, Counter()).update(one.total)
    return all(times(total, self.tree.leaves[values].remaining) > 0 for values, total in wanted.items())


def _used_of_all_flavors(self: Queue, usage: Quantities, topology: TopologyUsage, sign: int = 1) -> None:
    self.add_all(usage, sign)
    for domains in topology.values():
        for flavor in self.topologies.values():
            flavor.use(domains, sign)


MUTATIONS = (
    Mutation(
        "who was placed in a cycle takes room from those behind",
        Queue,
        "has_room",
        always(True),
        ("two heads for one domain", "two heads for two racks of one block"),
    ),
    Mutation(
        "in its turn a head is asked for room, and not for places of pods",
        FlavorTopology,
        "fits",
        _fits_with_places,
        ("two heads for one place of a pod",),
    ),
    Mutation(
        "in its turn each pod set of a head is asked alone",
        FlavorTopology,
        "fits",
        _fits_together,
        ("a head of two pod sets after another head",),
    ),
    Mutation(
        "within a cycle only the flavor that was given has less room",
        Queue,
        "use",
        _used_of_all_flavors,
        ("two heads for one node that two flavors have",),
    ),
)

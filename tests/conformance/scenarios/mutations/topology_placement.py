"""Rules of where topology-aware scheduling puts pods: what is counted, and which domains are taken.

In which order domains are tried for a leader is asked by unit tests alone: no recorded scenario has two domains between
which that decides.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from fleetqueue.embedded.kueue.scheduling import cycle
from fleetqueue.embedded.kueue.scheduling.queue_topology import QueueTopology
from fleetqueue.embedded.kueue.topology import counting, order, placement, requests, workload_placement
from fleetqueue.embedded.kueue.topology.counting import CountedDomain, CountedTree
from fleetqueue.embedded.kueue.topology.exclusions import Exclusions
from fleetqueue.embedded.kueue.topology.placement import Placement, Surroundings
from fleetqueue.embedded.kueue.topology.requests import NotPlaced, PlacementParameters, PlacementRequest
from fleetqueue.embedded.kueue.topology.selection import Selection
from fleetqueue.embedded.kueue.topology.tree import Tree

from .mutation import Mutation, always, by_chance

Domains = list[CountedDomain]

ordered, ordered_for_leader, room = order.ordered, order.ordered_for_leader, order.room
domains, too_little = Selection.domains, Selection._too_little
add_up, count_leaf, times = CountedTree._add_up, CountedTree._count_leaf, counting._times
named, parameters, sentence = placement._placement, requests.parameters, Exclusions.sentence


def _by_name(among: Iterable[CountedDomain], *, least_first: bool) -> Domains:
    return sorted(among, key=lambda one: one.place)


def _last_name_first(among: Iterable[CountedDomain], *, least_first: bool) -> Domains:
    sign = 1 if least_first else -1
    return sorted(among, key=lambda one: (-one.leaders, sign * one.slices_with_leader, -one.place))


def _whatever_pods(among: Iterable[CountedDomain], *, least_first: bool) -> Domains:
    return sorted(among, key=lambda one: ((1 if least_first else -1) * one.slices, one.place))


def _largest_first(sort: Callable[..., Domains]) -> Callable[..., Domains]:
    return lambda among, *, least_first: sort(among, least_first=False)


def _beside_no_leader(domain: CountedDomain, leaders: int, *, by_slices: bool) -> int:
    return room(domain, 0, by_slices=by_slices)


def _at_the_top(self: Selection, level: int) -> tuple[int, Domains]:
    """Go at once to the highest level where none of the first is enough alone."""
    try:
        return domains(replace(self, asked=replace(self.asked, is_required=True)), level)
    except NotPlaced:
        return domains(self, level if self.asked.is_required or self.asked.is_unconstrained else 0)


def _never_together(self: Selection, candidates: Domains, level: int) -> Domains:
    raise NotPlaced(self._too_little(candidates[0].slices, level))


def _not_named(self: Selection, level: int) -> tuple[int, Domains]:
    if not self.tree.by_level[level]:
        raise NotPlaced(self._too_little(0, level))
    return domains(self, level)


def _in_pods(self: Selection, fitting: int, level: int) -> str:
    return too_little(replace(self, asked=replace(self.asked, slice_size=1, layers=())), fitting, level)


def _anywhere(tree: Tree, asked: PlacementRequest, leaders: int) -> PlacementParameters:
    """Let who prefers a level be anywhere."""
    if asked.topology.preferred is not None:
        asked = replace(asked, topology=msgspec.structs.replace(asked.topology, preferred=None, unconstrained=True))
    return parameters(tree, asked, leaders)


def _of_largest_child(self: CountedTree, domain: CountedDomain) -> None:
    add_up(self, domain)
    domain.pods = domain.pods_with_leader = max(child.pods for child in domain.children)
    domain.slices = domain.slices_with_leader = max(child.slices for child in domain.children)


def _as_if_empty(self: CountedTree, leaf: Any, domain: CountedDomain) -> None:
    self._wanted = replace(self._wanted, as_if_empty=True)
    count_leaf(self, leaf, domain)


def _only_cpu(wanted: Sequence[tuple[str, int]], room: Mapping[str, int]) -> tuple[int, str]:
    return times([one for one in wanted if one[0] == "cpu"], dict(room))


def _last_scarce(wanted: Sequence[tuple[str, int]], room: Mapping[str, int]) -> tuple[int, str]:
    return times([*reversed(wanted)], dict(room))


def _in_short(tree: Tree, given: Iterable[tuple[CountedDomain, int]]) -> Placement:
    """Name domains by their last value alone, as if each were a host."""
    whole = named(tree, given)
    return Placement(whole.levels[-1:], tuple(one._replace(values=one.values[-1:]) for one in whole.domains))


def _without_resources(self: Exclusions) -> str:
    assert sentence.fget is not None
    return str(sentence.fget(Exclusions(self.total, self.node_selector, self.affinity, self.domain, self.taints)))


MUTATIONS = (
    Mutation(
        "pods that are near each other fill large domains",
        order,
        "ordered",
        _by_name,
        ("a topology whose lowest level is the rack", *by_chance(4, 13, 22, 29, 30, 33, 39)),
    ),
    Mutation(
        "of equal domains the name decides",
        order,
        "ordered_for_leader",
        _last_name_first,
        ("equal domains are taken by their names", "two flavors of the same nodes", *by_chance(11, 23)),
    ),
    Mutation(
        "of domains with as many slices the one with fewer pods is taken",
        order,
        "ordered",
        _whatever_pods,
        by_chance(39, 43),
    ),
    Mutation(
        "the smallest domain that is enough is taken",
        order,
        "best_fit",
        lambda among, needed, leaders, *, by_slices: among[0],
        (
            "the smallest domain that fits is taken",
            "the last domain is the smallest that takes the rest",
            *by_chance(14, 19, 27, 41),
        ),
    ),
    Mutation(
        "who may be anywhere fills what is nearly full",
        order,
        "ordered",
        _largest_first(ordered),
        by_chance(1, 13, 24, 28, 30, 34),
    ),
    Mutation(
        "who may be anywhere looks first at what is nearly full",
        order,
        "ordered_for_leader",
        _largest_first(ordered_for_leader),
        ("unconstrained takes the fullest nodes first", *by_chance(5, 8, 9, 12, 14, 20, 21, 43)),
    ),
    Mutation(
        "what the leader takes is lost to the others",
        order,
        "room",
        _beside_no_leader,
        ("pod sets of a group stand in one rack",),
    ),
    Mutation(
        "what is required is not widened",
        PlacementRequest,
        "is_required",
        property(always(False)),
        (
            "required in one rack that is too small for it",
            "what is left over is too scattered",
            "a node selector chooses hosts",
            *by_chance(3, 10, 12, 17, 36),
        ),
    ),
    Mutation(
        "what is preferred is widened",
        PlacementRequest,
        "is_required",
        property(always(True)),
        (
            "preferred in one rack, and only the block has room",
            "preferred in one rack, and it needs several blocks",
            "preferred, and the whole cluster is too small",
            "a node that is deleted is replaced",
            *by_chance(7, 14, 16, 35),
        ),
    ),
    Mutation(
        "what is preferred is widened level by level",
        Selection,
        "domains",
        _at_the_top,
        by_chance(32),
    ),
    Mutation(
        "what is preferred is near",
        requests,
        "parameters",
        _anywhere,
        ("preferred in one rack, and there is one",),
    ),
    Mutation(
        "who may be anywhere need not be near",
        PlacementRequest,
        "is_unconstrained",
        property(always(False)),
        by_chance(1, 13, 28, 30, 34, 38),
    ),
    Mutation(
        "slices alone may be anywhere",
        PlacementRequest,
        "_is_sliced_only",
        property(always(False)),
        ("slices alone may stand anywhere", *by_chance(2, 17, 24, 31, 43)),
    ),
    Mutation(
        "who asks for nothing is placed where all flavors have a topology",
        QueueTopology,
        "is_implied",
        always(False),
        ("without a request, in a queue of topologies only", *by_chance(0, 5, 23, 25, 29, 37)),
    ),
    Mutation(
        "a domain has room for what its children have together",
        CountedTree,
        "_add_up",
        _of_largest_child,
        ("required in one rack", "required in a block, with several racks", "preferred in one rack, and there is one"),
    ),
    Mutation(
        "several of the largest domains are taken together",
        Selection,
        "_several",
        _never_together,
        (
            "preferred in one rack, and it needs several blocks",
            "without a request, in a queue of topologies only",
            *by_chance(6, 18, 22),
        ),
    ),
    Mutation(
        "a level that has no domain is named",
        Selection,
        "domains",
        _not_named,
        ("there is no node at all",),
    ),
    Mutation(
        "all that a pod asks for counts",
        counting,
        "_times",
        _only_cpu,
        ("pods and memory count as cpus do", *by_chance(11, 14, 27, 36)),
    ),
    Mutation(
        "of equally scarce resources the first is named",
        counting,
        "_times",
        _last_scarce,
        by_chance(4, 6, 9, 12, 17, 18, 21, 36, 41, 42),
    ),
    Mutation(
        "each pod takes a place of its node",
        placement,
        "with_place",
        dict,
        ("pods and memory count as cpus do", *by_chance(4, 8, 20, 27, 31, 35)),
    ),
    Mutation(
        "what Workloads use is not free",
        CountedTree,
        "_count_leaf",
        _as_if_empty,
        ("required on one host, of which none is free", "two heads want the same rack", *by_chance(16, 40)),
    ),
    Mutation(
        "what has changed is counted again",
        CountedTree,
        "refresh",
        always(None),
        ("required on one host, of which none is free", *by_chance(3, 15, 38)),
    ),
    Mutation(
        "what was given away only to see is still there",
        CountedTree,
        "restore",
        always(None),
        ("fewer pods where not all fit into a rack",),
    ),
    Mutation(
        "slices stay whole",
        PlacementRequest,
        "slice_size",
        property(always(1)),
        ("slices stay whole in their racks", "slices alone may stand anywhere", *by_chance(2, 10, 17, 25)),
    ),
    Mutation(
        "slices have a level of their own",
        PlacementRequest,
        "slice_label",
        lambda self, tree: tree.lowest,
        ("slices stay whole in their racks", "the slices are above what is required", *by_chance(28, 32, 39)),
    ),
    Mutation(
        "slices have slices",
        requests,
        "_inner_sizes",
        always({}),
        ("slices in two layers", "the inner slices do not divide the outer ones", *by_chance(28)),
    ),
    Mutation(
        "a flavor has the level that is asked for",
        requests,
        "has_levels",
        always(True),
        ("a level that the topology does not have",),
    ),
    Mutation(
        "a flavor has a topology for those who ask, and only for those",
        QueueTopology,
        "mismatch",
        always(""),
        ("a flavor without a topology beside one that has it",),
    ),
    Mutation(
        "pod sets of a group are placed together",
        workload_placement,
        "_groups",
        lambda pod_sets: [[one] for one in pod_sets],
        ("pod sets of a group stand in one rack",),
    ),
    Mutation(
        "pod sets of one Workload take room from each other",
        Surroundings,
        "assume",
        always(None),
        ("pod sets that are no group stand apart",),
    ),
    Mutation(
        "fewer pods may be enough",
        cycle,
        "can_shrink",
        always(False),
        ("fewer pods where not all fit into a rack",),
    ),
    Mutation(
        "domains are named by all levels where hosts are none",
        placement,
        "_placement",
        _in_short,
        (
            "a topology whose lowest level is the rack",
            "a node selector means nothing where hosts are no level",
            *by_chance(19, 20, 24, 26, 27, 37, 42),
        ),
    ),
    Mutation(
        "how much fits is told in slices",
        Selection,
        "_too_little",
        _in_pods,
        ("slices stay whole in their racks", "slices in two layers", *by_chance(2, 10, 25, 31, 35)),
    ),
    Mutation(
        "who waits is told of the nodes that were left out",
        Exclusions,
        "sentence",
        property(always("")),
        ("a node affinity chooses hosts", *by_chance(2, 23)),
    ),
    Mutation(
        "who waits is told what nodes lack",
        Exclusions,
        "sentence",
        property(_without_resources),
        ("pods of others take room on their node", *by_chance(0, 25)),
    ),
)

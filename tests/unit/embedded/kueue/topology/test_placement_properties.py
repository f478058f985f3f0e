"""What is true of every placement, whatever is asked for and whatever the nodes have."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.api.kueue_topology import TopologyAssignment
from fleetqueue.embedded.kueue.topology.counting import CountedTrees
from fleetqueue.embedded.kueue.topology.flavor_topology import DomainUsage, FlavorTopology
from fleetqueue.embedded.kueue.topology.placement import Placement, Surroundings, place
from fleetqueue.embedded.kueue.topology.requests import NotPlaced

from .trees import HOSTNAME, LEVELS, asked, node, tree

RACKS = ("b1/r1", "b1/r2", "b2/r3")
nodes = st.dictionaries(
    st.builds(lambda rack, number: f"{rack}/{rack[-2:]}-{number}", st.sampled_from(RACKS), st.integers(0, 3)),
    st.integers(0, 4),
    min_size=1,
    max_size=9,
)
levels = st.sampled_from(LEVELS)
counts = st.sampled_from([1, 2, 3, 4, 6, 8])


def found(where, request, leader=None):
    try:
        return place(Surroundings("t", where, CountedTrees(where), {}), request, leader)
    except NotPlaced:
        return None


def node_levels(where, placement, level):
    """Return the domains of a level that a placement is in."""
    number = where.levels.index(level)
    return {where.leaves[domain.values].values[: number + 1] for domain in placement.domains}


@given(sizes=nodes, count=counts, level=levels)
def test_required_is_in_one_domain_and_fails_only_where_none_is_large_enough(sizes, count, level):
    where = tree(**sizes)

    placements = found(where, asked(count, required=level))

    cut = LEVELS.index(level) + 1
    rooms = {}
    for path, cpu in sizes.items():
        domain = tuple(path.split("/")[:cut])
        rooms[domain] = rooms.get(domain, 0) + cpu
    assert (placements is not None) == (max(rooms.values()) >= count)
    if placements is not None:
        assert len(node_levels(where, placements["main"], level)) == 1


@given(sizes=nodes, count=counts, level=levels, kind=st.sampled_from(["preferred", "unconstrained"]))
def test_what_is_not_required_fails_only_where_there_is_not_enough_at_all(sizes, count, level, kind):
    asks = {"unconstrained": True} if kind == "unconstrained" else {"preferred": level}

    placements = found(tree(**sizes), asked(count, **asks))

    assert (placements is not None) == (sum(sizes.values()) >= count)


def rooms(sizes, level, size, within):
    """Return how many slices of pods each domain of a level has room for, of those in some domains above."""
    found = {}
    for path, cpu in sizes.items():
        values = tuple(path.split("/"))
        if any(values[: len(above)] == above for above in within):
            domain = values[: LEVELS.index(level) + 1]
            found[domain] = found.get(domain, 0) + cpu // size
    return found


def fewest(among, needed):
    """Try all sets of domains, the small ones first."""
    sets = ((number, some) for number in range(len(among) + 1) for some in combinations(among, number))
    return next(number for number, some in sets if sum(some) >= needed)


@given(
    sizes=nodes,
    count=st.sampled_from([2, 4, 6, 8, 12]),
    kind=st.sampled_from(["preferred", "preferred", "required"]),
    level=levels,
    size=st.sampled_from([1, 2]),
)
def test_who_is_to_be_near_uses_the_fewest_domains_of_each_level_in_those_above(sizes, count, kind, level, size):
    """One domain of the level that is asked for, or of the first above it that has one which is enough; else several.

    That, and no more, as upstream: each level is looked at only inside of what was chosen above. There may be another
    block whose racks would be fewer, or other racks whose nodes would be.
    """
    where = tree(**sizes)
    slices = {"podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": size}

    placements = found(where, asked(count, **{kind: level}, **slices))

    needed, asked_for = count // size, LEVELS.index(level)
    enough = [
        number
        for number, name in enumerate(LEVELS[: asked_for + 1])
        if max(rooms(sizes, name, size, [()]).values()) >= needed
    ]
    if placements is not None:
        within = [()]
        for name in LEVELS[max(enough, default=0) :]:
            used = node_levels(where, placements["main"], name)
            assert len(used) == fewest(rooms(sizes, name, size, within).values(), needed)
            within = [*used]


@given(sizes=nodes, count=st.sampled_from([2, 4, 6]), upper=st.integers(0, 2), lower=st.integers(0, 2))
def test_required_slices_are_whole_in_one_domain(sizes, count, upper, lower):
    where = tree(**sizes)
    level, of_slices = LEVELS[min(upper, lower)], LEVELS[max(upper, lower)]

    request = asked(count, required=level, podSetSliceRequiredTopology=of_slices, podSetSliceSize=2)
    placements = found(where, request)

    slices = {}
    for domain, room in rooms(sizes, of_slices, 1, [()]).items():
        above = domain[: LEVELS.index(level) + 1]
        slices[above] = slices.get(above, 0) + room // 2
    assert (placements is not None) == (max(slices.values()) >= count // 2)
    if placements is not None:
        assert len(node_levels(where, placements["main"], level)) == 1
        pods = pods_in(where, placements["main"], of_slices)
        assert sum(pods.values()) == count
        assert all(number % 2 == 0 for number in pods.values())


def pods_in(where, placement, level):
    """Return how many pods are in each domain of a level."""
    pods = {}
    for domain in placement.domains:
        above = where.leaves[domain.values].values[: where.levels.index(level) + 1]
        pods[above] = pods.get(above, 0) + domain.pods
    return pods


@given(sizes=nodes, count=st.sampled_from([2, 4, 6, 8]), level=levels, size=st.sampled_from([1, 2]))
def test_a_leader_and_the_slices_of_its_workers_are_in_one_domain_that_has_room_for_all(sizes, count, level, size):
    where = tree(**sizes)
    group = {"required": level, "podSetGroupName": "g"}
    slices = {"podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": size}

    placements = found(where, asked(count, **group, **slices), asked(1, name="leader", **group))

    beside_leader = {}
    for path, cpu in sizes.items():
        domain = tuple(path.split("/")[: LEVELS.index(level) + 1])
        led = rooms({**sizes, path: cpu - 1}, level, size, [domain])[domain] if cpu else 0
        beside_leader[domain] = max(led, beside_leader.get(domain, 0))
    assert (placements is not None) == (max(beside_leader.values()) >= count // size)
    if placements is not None:
        pods = {name: pods_in(where, placement, level) for name, placement in placements.items()}
        assert pods["main"].keys() == pods["leader"].keys()
        assert [[*each.values()] for each in (pods["main"], pods["leader"])] == [[count], [1]]
        assert all(domain.pods % size == 0 for domain in placements["main"].domains)


requests = st.builds(
    lambda count, level, kind, sliced: asked(
        count,
        **({"unconstrained": True} if kind == "unconstrained" else {kind: level}),
        **({"podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": 2} if sliced and count % 2 == 0 else {}),
    ),
    counts,
    levels,
    st.sampled_from(["required", "preferred", "unconstrained"]),
    st.booleans(),
)


@given(sizes=nodes, asks=st.lists(requests, max_size=5))
@settings(max_examples=200)
def test_no_node_is_given_more_than_it_has(sizes, asks):
    where = tree(**sizes)
    flavor = FlavorTopology("f", "t", where, CountedTrees(where))
    taken = {path.split("/")[-1]: 0 for path in sizes}
    for request in asks:
        placements = found(where, request)
        if placements is None:
            continue
        domains = placements["main"].domains
        assert sum(domain.pods for domain in domains) == request.count
        flavor.use(DomainUsage(domain.values, request.single_pod, domain.pods) for domain in domains)
        for domain in domains:
            taken[domain.values[-1]] += domain.pods

    assert all(taken[path.split("/")[-1]] <= cpu for path, cpu in sizes.items())


@given(sizes=nodes, request=requests)
def test_slices_are_whole_on_every_node(sizes, request):
    placements = found(tree(**sizes), request)

    if placements is not None:
        assert all(domain.pods % request.slice_size == 0 for domain in placements["main"].domains)


@given(sizes=nodes, request=requests, order=st.randoms(use_true_random=False))
def test_the_same_question_has_the_same_answer(sizes, request, order):
    shuffled = [*sizes.items()]
    order.shuffle(shuffled)
    where = tree(**sizes)

    first = found(where, request)

    assert found(where, request) == first
    assert found(tree(**dict(shuffled)), request) == first


@given(sizes=nodes, request=requests)
def test_what_is_written_reads_as_what_was_placed(sizes, request):
    placements = found(tree(**sizes), request)

    if placements is not None:
        read = msgspec.convert(placements["main"].manifest, TopologyAssignment)
        assert Placement.of(read) == placements["main"]


kinds_of_pods = st.builds(
    lambda request, cpu, gpu: replace(request, single_pod={"cpu": cpu * 500, "gpu": gpu}),
    requests,
    st.integers(0, 4),
    st.integers(0, 2),
)


@given(
    sizes=nodes,
    gpus=st.lists(st.integers(0, 4), min_size=9, max_size=9),
    places=st.lists(st.integers(0, 6), min_size=9, max_size=9),
    asks=st.lists(kinds_of_pods, max_size=5),
)
def test_no_node_is_given_more_of_anything_nor_more_pods(sizes, gpus, places, asks):
    has = {path: {"cpu": cpu, "gpu": gpus[at], "pods": places[at]} for at, (path, cpu) in enumerate(sizes.items())}
    where = tree(*(node(path, **amounts) for path, amounts in has.items()))
    flavor = FlavorTopology("f", "t", where, CountedTrees(where))
    taken = {path.split("/")[-1]: Counter() for path in has}
    for request in asks:
        placements = found(where, request)
        domains = placements["main"].domains if placements is not None else ()
        assert sum(domain.pods for domain in domains) == (request.count if placements is not None else 0)
        flavor.use(DomainUsage(domain.values, request.single_pod, domain.pods) for domain in domains)
        for domain in domains:
            of_pod = {**request.single_pod, "pods": 1}
            taken[domain.values[-1]].update({name: value * domain.pods for name, value in of_pod.items()})

    for path, amounts in has.items():
        of_node = {**amounts, "cpu": amounts["cpu"] * 1000}
        assert all(value <= of_node[name] for name, value in taken[path.split("/")[-1]].items())

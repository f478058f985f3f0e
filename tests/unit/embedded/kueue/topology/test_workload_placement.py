"""Several pod sets, flavors and groups of one Workload; and pods whose node failed."""

import pytest

from fleetqueue.api.kueue_topology import PodsInDomain
from fleetqueue.embedded.kueue.topology.counting import CountedTrees
from fleetqueue.embedded.kueue.topology.flavor_topology import DomainUsage, FlavorTopology
from fleetqueue.embedded.kueue.topology.placement import Placement
from fleetqueue.embedded.kueue.topology.workload_placement import Failed, place_all

from .trees import HOSTNAME, asked, tree, written

LEADER = {"required": "rack", "podSetGroupName": "g"}


def flavor(name="f", **sizes):
    where = tree(**sizes)
    return FlavorTopology(name, "t", where, CountedTrees(where))


def found(requests, *flavors, **said):
    """Return where the pods of each pod set are, or which does not fit."""
    result = place_all(requests, {one.name: one for one in flavors}, **said)
    if result.failure is not None:
        return f"{result.failure.pod_set}: {result.failure.reason}"
    return {name: written(placement) for name, placement in result.found.items()}


def test_pod_sets_do_not_take_the_same_room():
    both = [asked(2, name="a", required="rack"), asked(2, name="b", required="rack")]

    assert found({"f": both}, flavor(**{"b/r1/x": 2, "b/r2/y": 3})) == {"a": {"x": 2}, "b": {"y": 2}}
    assert found({"f": both}, flavor(**{"b/r1/x": 2, "b/r2/y": 1})) == (
        'b: topology "t" allows to fit only 1 out of 2 pod(s). Total nodes: 2; excluded: resource "cpu": 1'
    )


def test_flavors_that_share_nodes_share_what_is_assumed_of_them():
    one, two = flavor("one", **{"b/r/x": 2}), flavor("two", **{"b/r/x": 2, "b/r/y": 2})
    both = {"two": [asked(2, name="b", required="rack")], "one": [asked(2, name="a", required="rack")]}

    assert found(both, one, two) == {"a": {"x": 2}, "b": {"y": 2}}


@pytest.mark.parametrize("order", [1, -1], ids=["the leader first", "the leader last"])
def test_the_smaller_pod_set_of_a_group_leads(order):
    group = [asked(1, name="leader", cpu=2, **LEADER), asked(3, name="workers", **LEADER)][::order]

    places = found({"f": group}, flavor(**{"b/r1/x": 3, "b/r1/y": 1, "b/r2/z": 3, "b/r2/w": 2}))

    assert places == {"leader": {"z": 1}, "workers": {"z": 1, "w": 2}}


def test_a_group_that_does_not_fit_says_so_of_its_first_pod_set():
    group = [asked(1, name="leader", cpu=3, **LEADER), asked(3, name="workers", **LEADER)]

    assert found({"f": group}, flavor(**{"b/r1/x": 3})).startswith('leader: topology "t"')


def test_used_domains_are_full_until_they_are_given_back():
    where = flavor(**{"b/r1/x": 2})
    usage = [DomainUsage(("x",), {"cpu": 1000}, 2), DomainUsage(("gone",), {"cpu": 1000}, 1)]

    where.use(usage)
    is_full = found({"f": [asked(1, required="rack")]}, where)
    where.use(usage, -1)

    assert is_full.startswith("main: topology")
    assert found({"f": [asked(2, required="rack")]}, where) == {"main": {"x": 2}}


@pytest.mark.parametrize(
    ("usage", "fits"),
    [
        pytest.param(DomainUsage(("x",), {"cpu": 1000}, 2), True, id="enough"),
        pytest.param(DomainUsage(("x",), {"cpu": 1000}, 3), False, id="not enough"),
        pytest.param(DomainUsage(("y",), {"cpu": 1000}, 1), False, id="a domain that is gone"),
        pytest.param(DomainUsage(("x",), {}, 1), False, id="pods that ask for nothing never fit"),
    ],
)
def test_what_fits_into_its_domain(usage, fits):
    assert flavor(**{"b/r1/x": 2}).fits([usage]) is fits


def before(**pods):
    return Placement((HOSTNAME,), tuple(PodsInDomain((name,), count) for name, count in pods.items()))


def replacement(request, old, node, **sizes):
    where = flavor(**sizes)
    where.use([DomainUsage(values, request.single_pod, count) for values, count in old.domains if values != (node,)])
    return found({"f": [request]}, where, failed=Failed(node, {"main": old}))


@pytest.mark.parametrize(
    ("request_", "sizes", "result"),
    [
        pytest.param({"required": "rack"}, {"b/r1/a": 3, "b/r2/c": 1}, {"a": 3}, id="in the rack, since that is asked"),
        pytest.param({"preferred": "rack"}, {"b/r1/a": 2, "b/r2/c": 1}, {"a": 2, "c": 1}, id="anywhere else"),
        pytest.param(
            {"required": "rack"},
            {"b/r1/a": 2, "b/r2/c": 1},
            'main: topology "t" doesn\'t allow to fit any of 1 pod(s). '
            'Total nodes: 2; excluded: resource "cpu": 1, topologyDomain: 1',
            id="not in the rack",
        ),
        pytest.param(
            {"required": "rack"},
            {"b/r2/c": 1},
            "main: Cannot replace the node, because the existing topologyAssignment is invalid, "
            "as it contains the stale domain a",
            id="another node is gone, too",
        ),
    ],
)
def test_the_pods_of_a_failed_node_go_elsewhere(request_, sizes, result):
    places = replacement(asked(3, **request_), before(a=2, b=1), "b", **sizes)

    assert places == (result if isinstance(result, str) else {"main": result})


def test_a_slice_is_made_whole_in_its_own_rack():
    sliced = {"preferred": "block", "podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
    sizes = {"b/r1/a": 1, "b/r1/x": 1, "b/r2/c": 2, "b/r2/d": 3}

    places = replacement(asked(4, **sliced), before(b=1, a=1, c=2), "b", **sizes)

    assert places == {"main": {"a": 1, "x": 1, "c": 2}}


def test_a_workload_that_ends_with_its_pod_stays_where_it_is():
    failed = Failed("b", {"main": before(b=1)}, stays=True)

    assert found({"f": [asked(1, required="rack")]}, flavor(**{"b/r1/a": 2}), failed=failed) == {"main": {"b": 1}}

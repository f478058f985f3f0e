"""Where pods are placed, and what is said where they are not."""

from dataclasses import replace

import pytest

from fleetqueue.embedded.kueue.topology.counting import CountedTrees
from fleetqueue.embedded.kueue.topology.placement import Placement, Surroundings, place

from .trees import HOSTNAME, LEVELS, asked, node, placed, tree

TWO_RACKS = tree(**{"b1/r1/a": 2, "b1/r1/b": 2, "b1/r2/c": 3, "b2/r3/d": 1, "b2/r3/e": 1})


@pytest.mark.parametrize(
    ("count", "request_", "found"),
    [
        pytest.param(3, {"required": "rack"}, {"c": 3}, id="the smallest rack that is enough"),
        pytest.param(4, {"required": "rack"}, {"a": 2, "b": 2}, id="the only rack that is enough"),
        pytest.param(2, {"required": "rack"}, {"d": 1, "e": 1}, id="a rack of small nodes before half of a larger one"),
        pytest.param(6, {"required": "block"}, {"c": 3, "a": 2, "b": 1}, id="a block, its largest nodes first"),
        pytest.param(1, {"required": HOSTNAME}, {"d": 1}, id="the smallest node, the first in order"),
        pytest.param(3, {"preferred": HOSTNAME}, {"c": 3}, id="preferred: one node if that is enough"),
        pytest.param(4, {"preferred": HOSTNAME}, {"a": 2, "b": 2}, id="preferred: else one rack"),
        pytest.param(5, {"preferred": "rack"}, {"a": 2, "c": 3}, id="preferred: else one block"),
        pytest.param(8, {"preferred": "rack"}, {"a": 2, "b": 2, "c": 3, "d": 1}, id="preferred: else several blocks"),
        pytest.param(3, {"unconstrained": True}, {"c": 3}, id="anywhere: a node that has just enough"),
        pytest.param(4, {"unconstrained": True}, {"d": 1, "e": 1, "a": 2}, id="anywhere: else the least free first"),
    ],
)
def test_which_domains(count, request_, found):
    assert placed(TWO_RACKS, asked(count, **request_)) == found


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        pytest.param(asked(5, required="rack"), "allows to fit only 4 out of 5 pod(s)", id="some"),
        pytest.param(
            asked(1, cpu=4, required="rack"),
            'doesn\'t allow to fit any of 1 pod(s). Total nodes: 5; excluded: resource "cpu": 5',
            id="none",
        ),
        pytest.param(asked(10, preferred="rack"), "allows to fit only 9 out of 10 pod(s)", id="not even in all"),
        pytest.param(asked(10, unconstrained=True), "allows to fit only 9 out of 10 pod(s)", id="not even anywhere"),
        pytest.param(
            asked(6, required="rack", podSetSliceRequiredTopology=HOSTNAME, podSetSliceSize=2),
            "allows to fit only 2 out of 3 slice(s)",
            id="slices",
        ),
        pytest.param(
            asked(
                8,
                cpu=1,
                required="rack",
                podsetSliceRequiredTopologyConstraints=[
                    {"topology": "rack", "size": 4},
                    {"topology": HOSTNAME, "size": 2},
                ],
            ),
            "doesn't allow to fit; 1/2 slice(s) fit on level rack; 2/4 slice(s) fit on level kubernetes.io/hostname",
            id="layers",
        ),
    ],
)
def test_what_is_said_where_there_is_not_enough(request_, message):
    assert placed(TWO_RACKS, request_) == f'topology "t" {message}'


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        pytest.param({"required": "row"}, "no requested topology level: row", id="a level that is not there"),
        pytest.param({}, "topology level not specified", id="no level"),
        pytest.param(
            {"required": "rack", "podSetSliceRequiredTopology": "row", "podSetSliceSize": 1},
            "no requested topology level for slices: row",
            id="slices of a level that is not there",
        ),
        pytest.param(
            {"required": "rack", "podSetSliceRequiredTopology": "block", "podSetSliceSize": 1},
            "podset slice topology block is above the podset topology rack",
            id="slices larger than what they are slices of",
        ),
        pytest.param(
            {"required": "block", "podSetSliceRequiredTopology": "rack"},
            "slice topology requested, but slice size not provided",
            id="slices without a size",
        ),
        pytest.param(
            {
                "podsetSliceRequiredTopologyConstraints": [
                    {"topology": "rack", "size": 4},
                    {"topology": "row", "size": 2},
                ]
            },
            "no requested topology level for additional slice layer: row",
            id="a layer of a level that is not there",
        ),
        pytest.param(
            {
                "podsetSliceRequiredTopologyConstraints": [
                    {"topology": "rack", "size": 4},
                    {"topology": "rack", "size": 2},
                ]
            },
            "additional slice layer topology rack must be at a lower level than rack",
            id="a layer that is not below the one before",
        ),
        pytest.param(
            {
                "podsetSliceRequiredTopologyConstraints": [
                    {"topology": "rack", "size": 4},
                    {"topology": HOSTNAME, "size": 3},
                ]
            },
            "additional slice layer size 3 must evenly divide parent layer size 4",
            id="a layer that does not divide the one before",
        ),
    ],
)
def test_levels_that_do_not_go_together(request_, message):
    assert placed(TWO_RACKS, asked(4, **request_)) == message


def test_slices_stay_whole_and_are_in_as_few_racks_as_can_be():
    where = tree(**{"b1/r1/a": 3, "b1/r1/b": 2, "b1/r2/c": 4, "b1/r2/d": 1})
    sliced = {"podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": 2}

    assert placed(where, asked(4, required="block", **sliced)) == {"a": 2, "b": 2}
    assert placed(where, asked(8, preferred="rack", **sliced)) == {"a": 2, "b": 2, "c": 4}


def test_slices_alone_ask_for_no_more_than_that_each_is_together():
    where = tree(**{"b1/r1/a": 2, "b2/r2/b": 2, "b2/r2/c": 1})

    assert placed(where, asked(4, podSetSliceRequiredTopology="rack", podSetSliceSize=2)) == {"a": 2, "b": 1, "c": 1}


def test_the_pods_of_inner_slices_are_together_too():
    where = tree(**{"b1/r1/a": 3, "b1/r1/b": 3, "b1/r2/c": 4, "b1/r2/d": 2})
    layers = [{"topology": "rack", "size": 4}, {"topology": HOSTNAME, "size": 2}]

    found = placed(where, asked(8, required="block", podsetSliceRequiredTopologyConstraints=layers))

    assert found == {"a": 2, "b": 2, "c": 2, "d": 2}


def test_a_leader_is_placed_with_its_workers():
    where = tree(**{"b1/r1/a": 2, "b1/r1/b": 2, "b1/r2/c": 3, "b1/r2/d": 2})
    leader = asked(1, name="leader", required="rack", podSetGroupName="g")

    found = placed(where, asked(4, required="rack", podSetGroupName="g"), leader)

    assert found == ({"c": 1}, {"c": 2, "d": 2})


WITH_GPU = replace(asked(1, name="leader", required="rack", podSetGroupName="g"), single_pod={"cpu": 1000, "gpu": 1})


def test_a_rack_that_cannot_take_the_leader_is_passed_over():
    where = tree(node("b1/r1/a", 4), node("b1/r2/b", 3, gpu=1))

    found = placed(where, asked(2, required="rack", podSetGroupName="g"), WITH_GPU)

    assert found == ({"b": 1}, {"b": 2})


def test_the_node_of_the_leader_is_filled_before_a_larger_one():
    where = tree(node("b1/r1/a", 4), node("b1/r1/b", 2, gpu=1))

    found = placed(where, asked(4, required="rack", podSetGroupName="g"), WITH_GPU)

    assert found == ({"b": 1}, {"a": 3, "b": 1})


def test_where_the_lowest_level_is_no_node_its_domains_add_up_what_their_nodes_have():
    levels = ("block", "rack")
    nodes = [node(path, cpu, levels=levels) for path, cpu in {"b1/r1": 1, "b1/r2": 3}.items()]
    second = node("b1/r1", 2, levels=levels, taints=[{"key": "k", "effect": "NoSchedule"}])
    where = tree(*nodes, second.__class__("other", second.labels, second.taints, second.allocatable), levels=levels)

    found = place(
        Surroundings("t", where, CountedTrees(where), {}),
        asked(5, required="block", spec={"nodeSelector": {"no": "such"}}),
    )

    assert found["main"] == Placement(levels, ((("b1", "r1"), 3), (("b1", "r2"), 2)))


NODES = tree(
    node("b1/r1/a", labels={"disk": "ssd", "size": "3"}),
    node("b1/r1/b", taints=[{"key": "gpu", "value": "a", "effect": "NoSchedule"}]),
    node("b1/r1/c", taints=[{"key": "old", "effect": "NoExecute"}, {"key": "x", "effect": "PreferNoSchedule"}]),
    node("b1/r1/d", labels={"disk": "hdd"}, taints=[{"key": "y", "effect": "PreferNoSchedule"}]),
)


@pytest.mark.parametrize(
    ("spec", "excluded"),
    [
        pytest.param({}, 'taint "gpu=a:NoSchedule": 1, taint "old:NoExecute": 1', id="taints"),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}]}, "nodeSelector: 3", id="selector"
        ),
        pytest.param(
            {
                "tolerations": [
                    {"key": "gpu", "operator": "Equal", "value": "a"},
                    {"key": "old", "operator": "Exists"},
                ],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["2"]}]},
                                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]},
                                {},
                            ]
                        }
                    }
                },
            },
            "affinity: 2",
            id="affinity",
        ),
    ],
)
def test_nodes_that_are_left_out_are_counted_with_the_reason(spec, excluded):
    found = placed(NODES, asked(5, required="rack", spec=spec))

    assert found.endswith(f". Total nodes: 4; excluded: {excluded}")


def test_a_node_without_a_place_for_another_pod_is_full():
    where = tree(node("b/r/a", 8, pods=2), node("b/r/b", 8, pods=0))

    assert placed(where, asked(2, required="rack")) == {"a": 2}
    assert 'allows to fit only 2 out of 3 pod(s). Total nodes: 2; excluded: resource "pods": 1' in placed(
        where, asked(3, required="rack")
    )


def test_a_topology_without_nodes_says_so():
    assert placed(tree(), asked(1, required="rack")) == "no topology domains at level: rack"


def test_if_all_workloads_were_gone_only_other_pods_would_count():
    where = tree(**{"b/r/a": 4})
    leaf = where.leaves[("a",)]
    leaf.occupy({"cpu": 1000, "pods": 1})
    leaf.use({"cpu": 3000, "pods": 1})

    assert placed(where, asked(1, required="rack")).startswith('topology "t" doesn\'t allow')
    assert placed(where, asked(3, required="rack"), as_if_empty=True) == {"a": 3}


def test_an_assignment_names_nodes_alone_and_is_written_short():
    found = place(Surroundings("t", TWO_RACKS, CountedTrees(TWO_RACKS), {}), asked(4, required="rack"))["main"]

    assert found.levels == LEVELS[-1:]
    assert found.manifest == {
        "levels": [HOSTNAME],
        "slices": [
            {
                "domainCount": 2,
                "valuesPerLevel": [{"individual": {"roots": ["a", "b"]}}],
                "podCounts": {"universal": 2},
            }
        ],
    }

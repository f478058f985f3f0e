"""Selected clusters in decision groups."""

import pytest

from fleetqueue.api.cluster_v1 import Placement
from fleetqueue.embedded.ocm.placement.groups import group_length, grouping
from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured

from .objects import managed_cluster, placement_manifest

CLUSTERS = {
    "a": managed_cluster("a", labels={"canary": "yes"}),
    "b": managed_cluster("b", claims={"zone": "one"}),
    "c": managed_cluster("c", labels={"canary": "yes"}, claims={"zone": "one"}),
    "d": managed_cluster("d"),
    "e": managed_cluster("e"),
}
CANARY = {"groupName": "canary", "groupClusterSelector": {"labelSelector": {"matchLabels": {"canary": "yes"}}}}
ZONE = {
    "groupName": "zone",
    "groupClusterSelector": {
        "claimSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["one"]}]}
    },
}
BROKEN = {
    "groupName": "broken",
    "groupClusterSelector": {"labelSelector": {"matchExpressions": [{"key": "x", "operator": "In"}]}},
}


def divided(selected, **strategy):
    wanted = Placement.view(placement_manifest(decisionStrategy={"groupStrategy": strategy}))
    found = grouping(selected, wanted.spec.decision_strategy.group_strategy, CLUSTERS.get)
    return [(group.name, "".join(group.clusters)) for group in found.groups], found.problem


@pytest.mark.parametrize(
    ("wanted", "total", "length"),
    [
        (0, 5, 5), (2, 5, 2), (9, 5, 5), (-1, 5, 5), ("25%", 5, 2), ("40%", 5, 2), ("41%", 5, 3), ("100%", 5, 5),
        ("1%", 500, 5), ("10%", 0, 0),
    ],
)  # fmt: skip
def test_the_length_of_a_group(wanted, total, length):
    assert group_length(wanted, total) == length


@pytest.mark.parametrize("wanted", ["10", "x%", ""])
def test_a_length_that_is_no_share(wanted):
    with pytest.raises(Misconfigured, match=f"^:{wanted} invalid type: string is not a percentage$"):
        group_length(wanted, 5)


@pytest.mark.parametrize(
    ("selected", "strategy", "groups"),
    [
        pytest.param("ecab", {}, [("", "abce")], id="one group, by name"),
        pytest.param("", {}, [("", "")], id="an empty group where nobody is selected"),
        pytest.param("abcde", {"clustersPerDecisionGroup": 2}, [("", "ab"), ("", "cd"), ("", "e")], id="by number"),
        pytest.param("abcde", {"decisionGroups": [CANARY]}, [("canary", "ac"), ("", "bde")], id="a named group first"),
        pytest.param("ac", {"decisionGroups": [CANARY]}, [("canary", "ac")], id="nobody is left"),
        pytest.param("de", {"decisionGroups": [CANARY]}, [("", "de")], id="nobody is in the named group"),
        pytest.param(
            "abcde",
            {"decisionGroups": [ZONE, CANARY], "clustersPerDecisionGroup": 1},
            [("zone", "b"), ("zone", "c"), ("canary", "a"), ("", "d"), ("", "e")],
            id="the first group that fits takes a cluster",
        ),
    ],
)
def test_how_clusters_are_divided(selected, strategy, groups):
    assert divided(selected, **strategy) == (groups, None)


def test_a_broken_group_keeps_those_before_it():
    groups, problem = divided("abcde", decisionGroups=[CANARY, BROKEN, ZONE])

    assert groups == [("canary", "ac")]
    assert str(problem).startswith(":values: Invalid value: null")


def test_a_broken_length_leaves_no_group():
    groups, problem = divided("abcde", clustersPerDecisionGroup="10", decisionGroups=[CANARY])

    assert groups == []
    assert problem is not None

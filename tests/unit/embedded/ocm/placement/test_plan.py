"""What is to be written: decisions, groups and conditions."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import Placement
from fleetqueue.embedded.ocm.placement import messages
from fleetqueue.embedded.ocm.placement.eligibility import bound_sets, check_sets, eligible_sets, is_member
from fleetqueue.embedded.ocm.placement.plan import decision_manifest, group_length, grouping, planned
from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured
from fleetqueue.embedded.ocm.placement.ranking import ScheduleResult

from .objects import binding_manifest, cluster_set, managed_cluster, placement, placement_manifest

SET = cluster_set()


def plan(result, *, bound=(SET,), sets=(SET,), **spec):
    return planned(placement(**spec), result, bound=bound, sets=sets, cluster=managed_cluster)


def chosen(number, **parts):
    return ScheduleResult([f"c{each:03d}" for each in range(number)], available=number, **parts)


@pytest.mark.parametrize(
    ("number", "sizes"),
    [(0, [0]), (1, [1]), (100, [100]), (101, [100, 1]), (250, [100, 100, 50])],
)
def test_a_decision_holds_a_hundred_clusters(number, sizes):
    made = plan(chosen(number))

    assert [len(decision.clusters) for decision in made.decisions] == sizes
    assert [decision.name for decision in made.decisions] == [f"p-decision-{n}" for n in range(1, len(sizes) + 1)]
    assert made.groups == [
        {
            "decisionGroupIndex": 0,
            "decisionGroupName": "",
            "decisions": [decision.name for decision in made.decisions],
            "clusterCount": number,
        }
    ]


def test_decisions_are_numbered_through_all_groups():
    made = plan(chosen(230), decisionStrategy={"groupStrategy": {"clustersPerDecisionGroup": 110}})

    assert [decision.name[-1] for decision in made.decisions] == ["1", "2", "3", "4", "5"]
    assert [decision.labels[cluster.DECISION_GROUP_INDEX_LABEL] for decision in made.decisions] == list("00112")
    assert [group["decisions"] for group in made.groups] == [
        ["p-decision-1", "p-decision-2"],
        ["p-decision-3", "p-decision-4"],
        ["p-decision-5"],
    ]


def test_a_decision_belongs_to_its_placement():
    made = decision_manifest(placement(), plan(chosen(1)).decisions[0])

    assert made["metadata"]["labels"] == {
        cluster.PLACEMENT_LABEL: "p",
        cluster.DECISION_GROUP_INDEX_LABEL: "0",
        cluster.DECISION_GROUP_NAME_LABEL: "",
    }
    assert made["metadata"]["ownerReferences"][0]["kind"] == "Placement"
    assert made["metadata"]["ownerReferences"][0]["controller"] is True
    assert "status" not in made


@pytest.mark.parametrize(
    ("result", "parts", "reason", "message"),
    [
        pytest.param(
            ScheduleResult(), {"bound": (), "sets": ()}, "NoManagedClusterSetBindings",
            "No valid ManagedClusterSetBindings found in placement namespace", id="nothing is bound",
        ),
        pytest.param(
            ScheduleResult(), {"sets": (), "clusterSets": ["x", "y"]}, "NoIntersection",
            "None of ManagedClusterSets [x,y] is bound to placement namespace", id="what is wanted is not bound",
        ),
        pytest.param(
            ScheduleResult(), {"sets": (SET, cluster_set("t"))}, "AllManagedClusterSetsEmpty",
            "All ManagedClusterSets [s,t] have no member ManagedCluster", id="the sets are empty",
        ),
        pytest.param(
            ScheduleResult(available=3), {}, "NoManagedClusterMatched",
            "No ManagedCluster matches any of the cluster predicate", id="nobody matches",
        ),
        pytest.param(chosen(2), {}, "AllDecisionsScheduled", "All cluster decisions scheduled", id="all is well"),
        pytest.param(
            chosen(2, unscheduled=3), {}, "NotAllDecisionsScheduled", "3 cluster decisions unscheduled", id="too few",
        ),
    ],
)  # fmt: skip
def test_whether_a_placement_is_satisfied(result, parts, reason, message):
    misconfigured, satisfied = plan(result, **parts).conditions

    assert (satisfied.reason, satisfied.message) == (reason, message)
    assert satisfied.is_true is (reason == "AllDecisionsScheduled")
    assert (misconfigured.status, misconfigured.reason) == ("False", "Succeedconfigured")


def test_a_problem_is_told():
    misconfigured, _ = plan(ScheduleResult(available=1, problem=Misconfigured("Predicate", "no such label"))).conditions

    assert (misconfigured.status, misconfigured.message) == ("True", "Predicate:no such label")


def test_a_problem_of_groups_leaves_no_decision_but_the_count():
    made = plan(chosen(2), decisionStrategy={"groupStrategy": {"clustersPerDecisionGroup": "10"}})

    assert made.decisions == []
    assert made.selected == 2
    assert [condition.status for condition in made.conditions] == ["True", "True"]


def test_scores_in_an_event_are_cut_before_they_are_too_long():
    short = messages.scores_updated({"b": -3, "a": 200})[2]
    long = messages.scores_updated({f"cluster-{number:03d}": 100 for number in range(90)})[2]

    assert short == "a:200 b:-3 "
    assert long.endswith("......")
    assert 980 < len(long) <= 1006


def test_a_warning_stands_in_the_event():
    assert messages.decision_updated("p-decision-1", placement(), "scores expired in plugin x")[2] == (
        "Decision p-decision-1 is updated with placement p in namespace team: scores expired in plugin x"
    )


# Sets


def test_bindings_count_by_their_names_as_far_as_the_sets_exist():
    bindings = [cluster.ManagedClusterSetBinding.view(binding_manifest(name)) for name in ("t", "s", "gone")]

    found = bound_sets(bindings, {"s": SET, "t": cluster_set("t")}.get)

    assert [each.name for each in found] == ["s", "t"]


@pytest.mark.parametrize(("wanted", "names"), [([], ["s", "t"]), (["t", "u"], ["t"]), (["u"], [])])
def test_a_placement_asks_for_sets_or_takes_all(wanted, names):
    found = eligible_sets(placement(clusterSets=wanted), [SET, cluster_set("t")])

    assert [each.name for each in found] == names


def test_a_set_that_cannot_be_read_has_no_members_and_stops_the_placement():
    selector = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    broken = cluster_set("broken", selectorType="LabelSelector", labelSelector=selector)

    assert not is_member(managed_cluster(), broken)
    with pytest.raises(errors.TerminalError, match='ManagedClusterSet "broken" cannot be used: "Near" is not'):
        check_sets([SET, broken])


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

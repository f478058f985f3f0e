"""The questions that are asked about OCM's objects."""

import pytest

from fleetqueue.api import cluster_v1 as cluster


def managed_cluster(**labels):
    return cluster.ManagedCluster.view(cluster.ManagedCluster.manifest("c1", labels=labels))


def cluster_set(name="gpu", **selector):
    return cluster.ManagedClusterSet.view(
        cluster.ManagedClusterSet.manifest(name, spec={"clusterSelector": selector} if selector else {})
    )


@pytest.mark.parametrize(
    ("group", "labels", "is_member"),
    [
        pytest.param(cluster_set(), {cluster.CLUSTER_SET_LABEL: "gpu"}, True, id="by the set's label"),
        pytest.param(cluster_set(), {cluster.CLUSTER_SET_LABEL: "other"}, False, id="in another set"),
        pytest.param(cluster_set(), {}, False, id="in no set"),
        pytest.param(
            cluster_set(selectorType="LabelSelector", labelSelector={}), {}, True, id="an empty selector is global"
        ),
        pytest.param(
            cluster_set(selectorType="LabelSelector", labelSelector={"matchLabels": {"a": "1"}}),
            {"a": "2"},
            False,
            id="by labels",
        ),
        pytest.param(cluster_set(selectorType="LabelSelector"), {}, False, id="a selector is missing"),
    ],
)
def test_has(group, labels, is_member):
    assert group.has(managed_cluster(**labels)) is is_member


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "busy"}, True),
        ({"key": "gpu", "value": "idle"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSelect"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "PreferNoSelect"}, False),
    ],
)
def test_tolerates(toleration, tolerates):
    taint = cluster.ClusterTaint(key="gpu", value="busy", effect="NoSelect")

    assert cluster.ClusterToleration(**toleration).tolerates(taint) is tolerates


def test_a_placement_with_every_part_that_is_read():
    spec = {
        "clusterSets": ["gpu"],
        "numberOfClusters": 0,
        "predicates": [{"requiredClusterSelector": {"claimSelector": {"matchExpressions": None}}}],
        "prioritizerPolicy": {
            "configurations": [
                {
                    "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "gpu"}},
                    "weight": -3,
                }
            ]
        },
    }

    placement = cluster.Placement.view(cluster.Placement.manifest("p", "ns", spec=spec))

    assert placement.spec.number_of_clusters == 0
    assert placement.spec.prioritizer_policy.configurations[0].weight == -3
    assert placement.spec.prioritizer_policy.configurations[0].score_coordinate.add_on.score_name == "gpu"
    assert placement.spec.predicates[0].required_cluster_selector.claim_selector.matches({})


def test_no_number_of_clusters_is_not_zero():
    assert cluster.Placement.view(cluster.Placement.manifest("p", "ns")).spec.number_of_clusters is None


def test_a_decision_may_have_no_score():
    status = {"decisions": [{"clusterName": "a", "reason": ""}, {"clusterName": "b", "score": 0}]}

    decision = cluster.PlacementDecision.view(cluster.PlacementDecision.manifest("p-1", "ns", status=status))

    assert [(d.cluster_name, d.score) for d in decision.status.decisions] == [("a", None), ("b", 0)]


def test_a_score_is_found_by_name():
    score = cluster.AddOnPlacementScore.view(
        cluster.AddOnPlacementScore.manifest("usage", "c1", status={"scores": [{"name": "gpu", "value": -70}]})
    )

    assert score.value("gpu") == -70
    assert score.value("cpu") is None

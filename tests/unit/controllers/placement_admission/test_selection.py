"""What a Placement chose, best first, and who could still be chosen."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.controllers.placement_admission.selection import add_on_scores, is_eligible, select, total_score


def placement(*scores, **spec):
    """Build a Placement that orders by AddOn scores: (score object, score name, weight)."""
    configurations = [
        {
            "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": resource, "scoreName": name}},
            "weight": weight,
        }
        for resource, name, weight in scores
    ]
    policy = {"prioritizerPolicy": {"mode": "Exact", "configurations": configurations}}
    return cluster.Placement.view(cluster.Placement.manifest("gpu", "kueue-system", spec={**policy, **spec}))


def decision(*clusters, **scored):
    entries = [{"clusterName": name, "reason": ""} for name in clusters]
    entries += [{"clusterName": name, "reason": "", "score": score} for name, score in scored.items()]
    manifest = cluster.PlacementDecision.manifest("gpu-decision-1", "kueue-system", status={"decisions": entries})
    return cluster.PlacementDecision.view(manifest)


def scores(**values):
    return lambda name, resource, score: values.get(name)


GPU = ("resource-usage-score", "gpuClusterAvailable", 1)


@pytest.mark.parametrize(
    ("decisions", "values", "clusters"),
    [
        pytest.param([], {}, (), id="no decision yet"),
        pytest.param([decision()], {}, (), id="a decision for nobody"),
        pytest.param([decision("b", "a")], {}, ("a", "b"), id="without scores by name"),
        pytest.param([decision("a", "b")], {"a": -70, "b": 20}, ("b", "a"), id="recomputed scores"),
        pytest.param([decision(a=1, b=2)], {"a": 90, "b": 0}, ("b", "a"), id="the decision's own scores win"),
        pytest.param([decision("c", a=5)], {"c": 7}, ("c", "a"), id="own and recomputed scores beside each other"),
        pytest.param([decision("a"), decision("b")], {"b": 1}, ("b", "a"), id="several pages"),
        pytest.param([decision("a", "b")], {"a": -70}, ("b", "a"), id="a missing score is 0, as in OCM"),
        pytest.param([decision(b=0, a=0)], {}, ("a", "b"), id="a score of 0 is a score"),
    ],
)
def test_the_choice_is_best_first(decisions, values, clusters):
    selection = select(placement(GPU), decisions, scores(**values))

    assert selection.clusters == clusters
    assert selection.is_decided == bool(decisions)
    assert set(selection.scores) == set(clusters)


@pytest.mark.parametrize(
    ("prioritizers", "values", "total"),
    [
        pytest.param([], {}, 0, id="no AddOn prioritizer"),
        pytest.param([("r", "gpu", 1)], {("r", "gpu"): 30}, 30, id="one"),
        pytest.param([("r", "gpu", 3), ("r", "cpu", -1)], {("r", "gpu"): 10, ("r", "cpu"): 5}, 25, id="weighted"),
        pytest.param([("r", "gpu", 2)], {}, 0, id="no score"),
        pytest.param([("r", "gpu", 0)], {("r", "gpu"): 50}, 0, id="no weight"),
    ],
)
def test_a_score_is_the_weighted_sum(prioritizers, values, total):
    assert total_score(placement(*prioritizers), "c", lambda _, resource, name: values.get((resource, name))) == total


def test_built_in_prioritizers_are_not_recomputed():
    configurations = [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steadiness"}, "weight": 3}]
    mixed = placement(prioritizerPolicy={"configurations": configurations})

    assert total_score(mixed, "c", lambda *_: 100) == 0
    assert add_on_scores(mixed) == []


def test_the_names_and_weights_of_the_scores_are_told():
    assert add_on_scores(placement(("r", "gpu", 3), ("r", "cpu", 1))) == [("gpu", 3), ("cpu", 1)]


def managed(*, labels=None, taints=(), claims=None, deleting=False):
    manifest = cluster.ManagedCluster.manifest("c1", labels=labels, spec={"taints": list(taints)})
    manifest["status"] = {"clusterClaims": [{"name": k, "value": v} for k, v in (claims or {}).items()]}
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return cluster.ManagedCluster.view(manifest)


def required(**selector):
    return {"requiredClusterSelector": selector}


LABELLED = required(labelSelector={"matchLabels": {"gpu": "yes"}})
CLAIMED = required(claimSelector={"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]})
CEL = required(celSelector={"celExpressions": ["true"]})
TAINT = {"key": "gpu", "value": "broken", "effect": "NoSelect"}
TOLERATED = {"key": "gpu", "operator": "Exists"}


@pytest.mark.parametrize(
    ("spec", "member", "answer"),
    [
        pytest.param({}, managed(), True, id="no condition"),
        pytest.param({}, managed(deleting=True), False, id="on its way out"),
        pytest.param({"predicates": [LABELLED]}, managed(labels={"gpu": "yes"}), True, id="its label fits"),
        pytest.param({"predicates": [LABELLED]}, managed(labels={"gpu": "no"}), False, id="its label does not fit"),
        pytest.param({"predicates": [CLAIMED]}, managed(claims={"region": "eu"}), True, id="its claim fits"),
        pytest.param({"predicates": [CLAIMED]}, managed(claims={"region": "us"}), False, id="its claim does not fit"),
        pytest.param({"predicates": [CLAIMED]}, managed(), False, id="it has no such claim"),
        pytest.param(
            {"predicates": [LABELLED, CLAIMED]}, managed(claims={"region": "eu"}), True, id="one of two is enough"
        ),
        pytest.param({"predicates": [CEL]}, managed(), False, id="a CEL selector is not evaluated here"),
        pytest.param(
            {"predicates": [CEL, LABELLED]}, managed(labels={"gpu": "yes"}), True, id="CEL, but another one fits"
        ),
        pytest.param({}, managed(taints=[TAINT]), False, id="a taint"),
        pytest.param({"tolerations": [TOLERATED]}, managed(taints=[TAINT]), True, id="a tolerated taint"),
        pytest.param(
            {"tolerations": [TOLERATED]},
            managed(taints=[TAINT, {**TAINT, "key": "x"}]),
            False,
            id="one of two tolerated",
        ),
        pytest.param({}, managed(taints=[{**TAINT, "effect": "PreferNoSelect"}]), True, id="a taint that only advises"),
    ],
)
def test_who_could_still_be_chosen(spec, member, answer):
    assert is_eligible(placement(**spec), member) is answer

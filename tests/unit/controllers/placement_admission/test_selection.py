"""What a Placement chose, best first, and who could still be chosen."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.controllers.placement_admission.selection import (
    add_on_scores,
    decided_scores,
    recomputed_scores,
    select,
)


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


UNFILLED = cluster.PlacementDecision.view(cluster.PlacementDecision.manifest("gpu-decision-2", "kueue-system"))


def selecting(selected):
    """Build a Placement whose status says how many clusters it has selected."""
    conditions = [{"type": "PlacementSatisfied", "status": "True"}]
    status = {"numberOfSelectedClusters": selected, "conditions": conditions}
    return cluster.Placement.view(cluster.Placement.manifest("gpu", "kueue-system", spec={}, status=status))


@pytest.mark.parametrize(
    ("decisions", "scores", "clusters"),
    [
        pytest.param([], {}, (), id="no decision yet"),
        pytest.param([decision()], {}, (), id="a decision for nobody"),
        pytest.param([decision("b", "a")], {}, ("a", "b"), id="without scores by name"),
        pytest.param([decision("a", "b")], {"a": -70, "b": 20, "c": 1}, ("b", "a"), id="by score"),
        pytest.param([decision("a"), decision("b")], {"b": 1}, ("b", "a"), id="several pages"),
        pytest.param([decision("a", "b")], {"a": -70}, ("b", "a"), id="a missing score is 0, as in OCM"),
    ],
)
def test_the_choice_is_best_first(decisions, scores, clusters):
    selection = select(placement(), decisions, scores)

    assert selection.clusters == clusters
    assert selection.is_decided == bool(decisions)
    assert selection.scores == {name: scores.get(name, 0) for name in clusters}


@pytest.mark.parametrize(
    ("of", "decisions", "is_decided"),
    [
        pytest.param(placement(), [], False, id="nothing said"),
        pytest.param(placement(), [UNFILLED], False, id="created, and not filled yet"),
        pytest.param(selecting(3), [UNFILLED], False, id="created anew, and not filled yet"),
        pytest.param(selecting(0), [UNFILLED], True, id="never filled, for there is nobody"),
        pytest.param(placement(), [decision()], True, id="emptied"),
        pytest.param(placement(), [decision("a")], True, id="filled by somebody who writes no status"),
        pytest.param(selecting(1), [decision("a"), UNFILLED], True, id="a group without clusters"),
        pytest.param(selecting(100), [decision("a"), UNFILLED], False, id="a further page, not filled yet"),
    ],
)
def test_a_decision_that_is_not_filled_yet_is_none(of, decisions, is_decided):
    assert select(of, decisions, {}).is_decided is is_decided


def test_the_scores_of_decisions():
    assert decided_scores([decision("c", a=5), decision(b=0)]) == {"a": 5, "b": 0}


def no_cluster(name):
    return None


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
    def score_of(_, resource, name):
        return values.get((resource, name))

    assert recomputed_scores(placement(*prioritizers), ["c"], score_of, no_cluster) == {"c": total}


def built_in(*names_and_weights):
    configurations = [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight}
        for name, weight in names_and_weights
    ]
    return placement(prioritizerPolicy={"configurations": configurations})


def having(**cpus):
    """Return what is asked for clusters that have so many cores to allocate; None is one that does not say."""

    def cluster_of(name):
        if cpus.get(name) is None:
            return cluster.ManagedCluster.view(cluster.ManagedCluster.manifest(name))
        amounts = {"cpu": cpus[name], "memory": "1Gi"}
        status = {"allocatable": amounts, "capacity": amounts}
        return cluster.ManagedCluster.view(cluster.ManagedCluster.manifest(name, status=status))

    return cluster_of


CPU = "ResourceAllocatableCPU"


@pytest.mark.parametrize(
    ("of", "cpus", "scores"),
    [
        pytest.param([(CPU, 1)], {"a": "4", "b": "8", "c": "6"}, {"a": -100, "b": 100, "c": 0}, id="least to most"),
        pytest.param([(CPU, 2)], {"a": "4", "b": "8"}, {"a": -200, "b": 200}, id="weighted"),
        pytest.param([(CPU, 2), (CPU, 1)], {"a": "4", "b": "8"}, {"a": -100, "b": 100}, id="the last counts"),
        pytest.param([(CPU, 1)], {"a": "4", "b": None}, {"a": 100, "b": 0}, id="one that does not say"),
        pytest.param(
            [("Steady", 3), ("Balance", 2)], {"a": "4", "b": "8"}, {"a": 0, "b": 0}, id="what is about selections"
        ),
        pytest.param([("ResourceAllocatableMemory", 1)], {"a": "4", "b": "8"}, {"a": 100, "b": 100}, id="all alike"),
    ],
)
def test_what_clusters_have_to_allocate_is_recomputed(of, cpus, scores):
    found = recomputed_scores(built_in(*of), list(cpus), lambda *_: 100, having(**cpus))

    assert found == scores
    assert add_on_scores(built_in(*of)) == []


def test_the_names_and_weights_of_the_scores_are_told():
    assert add_on_scores(placement(("r", "gpu", 3), ("r", "cpu", 1))) == [("gpu", 3), ("cpu", 1)]

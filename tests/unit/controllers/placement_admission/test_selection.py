"""What a Placement chose, best first, and who could still be chosen."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.controllers.placement_admission.selection import (
    Selection,
    add_on_scores,
    decided_scores,
    recomputed_scores,
    select,
    steady,
)
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings


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
    recomputed = recomputed_scores(built_in(*of), list(cpus), lambda *_: 100, having(**cpus))

    assert recomputed == scores
    assert add_on_scores(built_in(*of)) == []


def test_the_names_and_weights_of_the_scores_are_told():
    assert add_on_scores(placement(("r", "gpu", 3), ("r", "cpu", 1))) == [("gpu", 3), ("cpu", 1)]


NOW = 10_000.0
SCORES = {"a": 10, "b": 20, "c": 30, "d": 40}


def follow(decided, current, *, eligible=True, moves=(), scores=SCORES, **settings):
    return steady(
        Selection(tuple(decided), {name: scores[name] for name in decided}),
        list(current),
        score_of=lambda name: scores[name],
        is_eligible=(lambda name: eligible) if isinstance(eligible, bool) else (lambda name: name in eligible),
        moves=list(moves),
        now=NOW,
        settings=PlacementAdmissionSettings(**settings),
    )


@pytest.mark.parametrize(
    ("decided", "current", "options"),
    [
        pytest.param("b", "a", {}, id="every setting is off"),
        pytest.param("b", "a", {"min_score_gain": 10}, id="a gain that is just enough"),
        pytest.param("ab", "a", {"min_score_gain": 99}, id="one more cluster"),
        pytest.param("a", "ab", {"min_score_gain": 99}, id="one cluster less"),
        pytest.param("cd", "a", {"min_score_gain": 99}, id="two come for one"),
        pytest.param("b", "a", {"min_score_gain": 99, "eligible": False}, id="the old one cannot be chosen any more"),
        pytest.param(
            "cd", "ab", {"min_score_gain": 99, "eligible": "a"}, id="one of the old cannot be chosen any more"
        ),
        pytest.param("a", "", {"min_score_gain": 99}, id="the first choice"),
        pytest.param("", "a", {"min_score_gain": 99}, id="an empty choice"),
        pytest.param("a", "a", {"min_score_gain": 99}, id="no change"),
        pytest.param("b", "a", {"min_dwell": 60.0}, id="no former move"),
        pytest.param("b", "a", {"min_dwell": 60.0, "moves": [NOW - 60]}, id="the selection is old enough"),
        pytest.param("b", "a", {"max_moves_per_hour": 2, "moves": [NOW - 10]}, id="one of two moves is left"),
        pytest.param("b", "a", {"max_moves_per_hour": 1, "moves": [NOW - 3600]}, id="the last move is an hour old"),
    ],
)
def test_the_decision_is_followed(decided, current, options):
    steadied = follow(decided, current, **options)

    assert steadied.selection.clusters == tuple(decided)
    assert (steadied.held_back, steadied.again_in) == ("", 0.0)


@pytest.mark.parametrize(
    ("decided", "current", "options", "kept", "again_in"),
    [
        pytest.param("b", "a", {"min_score_gain": 11}, "a", 0.0, id="too small a gain"),
        pytest.param("a", "b", {"min_score_gain": 1}, "b", 0.0, id="a loss"),
        pytest.param("cd", "ac", {"min_score_gain": 31}, "ca", 0.0, id="one of two, best first"),
        pytest.param("cd", "ab", {"min_score_gain": 11}, "ba", 0.0, id="the smallest gain of a pair counts"),
        pytest.param("b", "a", {"min_dwell": 60.0, "moves": [NOW - 20]}, "a", 40.0, id="too young"),
        pytest.param(
            "b", "a", {"min_dwell": 60.0, "moves": [NOW - 600, NOW - 20]}, "a", 40.0, id="the last move counts"
        ),
        pytest.param("b", "a", {"max_moves_per_hour": 1, "moves": [NOW - 600]}, "a", 3000.0, id="no move left"),
        pytest.param(
            "b",
            "a",
            {"max_moves_per_hour": 2, "moves": [NOW - 3000, NOW - 600]},
            "a",
            600.0,
            id="when the older is old",
        ),
        pytest.param(
            "b",
            "a",
            {"max_moves_per_hour": 1, "moves": [NOW - 3000, NOW - 600]},
            "a",
            3000.0,
            id="more moves than are allowed now",
        ),
    ],
)
def test_the_decision_is_held_back(decided, current, options, kept, again_in):
    steadied = follow(decided, current, **options)

    assert steadied.selection.clusters == tuple(kept)
    assert steadied.selection.scores == {name: SCORES[name] for name in kept}
    assert steadied.held_back
    assert steadied.again_in == again_in


def test_what_was_not_decided_yet_is_no_reason_to_move():
    undecided = Selection((), is_decided=False)

    steadied = steady(
        undecided,
        ["a"],
        score_of=SCORES.__getitem__,
        is_eligible=lambda name: True,
        moves=[],
        now=NOW,
        settings=PlacementAdmissionSettings(min_score_gain=5),
    )

    assert steadied.selection is undecided

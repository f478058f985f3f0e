"""Why a Placement chose what it chose."""

from fleetqueue.api.cluster_v1 import ManagedClusterSetBinding
from fleetqueue.embedded.ocm.placement.explaining import Part, explain

from .objects import (
    NOW,
    asking_for,
    binding_manifest,
    by_score,
    cluster_manifest,
    cluster_set,
    listed,
    no_expressions,
    placement,
    score_manifest,
)


def explained(wanted, facts):
    return explain(
        wanted,
        facts,
        bindings=[ManagedClusterSetBinding.view(binding_manifest())],
        sets=[cluster_set(), cluster_set("t")],
        compile_expression=no_expressions,
        now=NOW,
    )


def test_each_cluster_has_a_rank_or_a_rule_that_dropped_it():
    facts = listed(
        [
            cluster_manifest("a", labels={"x": "1"}),
            cluster_manifest("b", labels={"x": "1"}),
            cluster_manifest("c"),
            cluster_manifest("d", labels={"x": "1"}, taints=[{"key": "gpu", "value": "off", "effect": "NoSelect"}]),
            cluster_manifest("e", of="t", labels={"x": "1"}),
            cluster_manifest("f", deleting=True),
        ],
        [score_manifest("b", gpu=30), score_manifest("a", gpu=90, until=-1)],
    )
    policy = {"configurations": [by_score(weight=2)]}

    found = explained(
        placement(numberOfClusters=1, predicates=[asking_for({"x": "1"})], prioritizerPolicy=policy), facts
    )

    assert [(v.cluster, v.rank, v.is_selected, v.total) for v in found.verdicts if v.rank] == [
        ("b", 1, True, 160),
        ("a", 2, False, 100),
    ]
    assert found.verdicts[0].parts == [Part("Balance", 1, 100), Part("Steady", 1, 0), Part("AddOn/usage/gpu", 2, 30)]
    assert [(v.cluster, v.dropped_by, v.why) for v in found.verdicts if not v.rank] == [
        ("c", "Predicate", "no predicate of the placement matches it"),
        ("d", "TaintToleration", "the placement does not tolerate its taint gpu=off:NoSelect"),
        ("e", "ManagedClusterSet", "it is in no set that the placement may choose from (s)"),
        ("f", "Deleting", "it is being deleted"),
    ]
    assert found.warning == "AddOnPlacementScores a/usage expired in plugin AddOn/usage/gpu"
    assert [condition.reason for condition in found.conditions] == ["Succeedconfigured", "AllDecisionsScheduled"]


def test_a_placement_that_cannot_work_drops_everybody():
    found = explained(placement(prioritizerPolicy={"mode": "Some"}), listed([cluster_manifest("a")]))

    assert [(v.dropped_by, v.why) for v in found.verdicts] == [
        ("Misconfigured", ":incorrect prioritizer policy mode: Some")
    ]

"""Whom a change wakes, and which clusters it makes a Placement look at."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.embedded.ocm.placement.scheduling import placements_of
from fleetqueue.testing.virtual_time import settle

from .objects import (
    NAMESPACE,
    asking_for,
    binding_manifest,
    by_score,
    cluster_manifest,
    decision_manifest,
    exactly,
    managed_cluster,
    placement_manifest,
    score_manifest,
    set_manifest,
)


def keys(*names):
    return [f"{NAMESPACE}/{name}" for name in names]


@pytest.fixture
async def enqueuer(env, api, follow):
    """Four Placements: of any set, of `s`, of `eu`, and one in a namespace where nothing is bound."""
    eu = set_manifest("eu", selectorType="LabelSelector", labelSelector={"matchLabels": {"region": "eu"}})
    elsewhere = placement_manifest("elsewhere", prioritizerPolicy={"configurations": [by_score()]})
    elsewhere["metadata"]["namespace"] = "other"
    api.add(
        Namespace.manifest("other"),
        eu,
        binding_manifest("eu"),
        placement_manifest("any"),
        placement_manifest("of-s", clusterSets=["s"], prioritizerPolicy={"configurations": [by_score()]}),
        placement_manifest("of-eu", clusterSets=["eu"], predicates=[asking_for(expressions=['scores("x")'])]),
        elsewhere,
    )
    env.add_clusters("a")
    env.add_clusters("b", of="", labels={"region": "eu"})
    env.add_clusters("c", of="")
    await follow(env.controller)
    for key in (*keys("any", "of-s", "of-eu"), "other/elsewhere"):
        env.controller.enqueuer.take_touched(key)
    return env.controller.enqueuer


@pytest.mark.parametrize(
    ("changed", "woken"),
    [
        pytest.param(managed_cluster("a"), keys("any", "of-s"), id="in an exclusive set"),
        pytest.param(
            managed_cluster("b", of="", labels={"region": "eu"}), keys("any", "of-eu"), id="in a set by labels"
        ),
        pytest.param(managed_cluster("x", labels={"region": "eu"}), keys("any", "of-eu", "of-s"), id="in both"),
        pytest.param(managed_cluster("x", of=""), [], id="in no set"),
        pytest.param(managed_cluster("x", of="unknown"), [], id="in a set that is not there"),
    ],
)
async def test_a_cluster_wakes_who_may_choose_it(enqueuer, changed, woken):
    assert list(enqueuer.of_cluster(changed)) == woken
    assert [enqueuer.take_touched(key) for key in woken] == [{changed.name}] * len(woken)


@pytest.mark.parametrize(
    ("changed", "woken"),
    [
        pytest.param(score_manifest("a"), keys("of-s"), id="a score that a prioritizer names"),
        pytest.param(score_manifest("a", name="other"), [], id="a score that nobody names"),
        pytest.param(
            score_manifest("b", name="other"), keys("of-eu"), id="any score where an expression may ask for it"
        ),
        pytest.param(score_manifest("c"), [], id="a cluster in no set"),
        pytest.param(score_manifest("gone"), [], id="a cluster that is not there"),
    ],
)
async def test_a_score_wakes_who_looks_at_it(enqueuer, changed, woken):
    score = cluster.AddOnPlacementScore.view(changed)

    assert list(enqueuer.of_score(score)) == woken
    assert [enqueuer.take_touched(key) for key in woken] == [{score.namespace}] * len(woken)


async def test_a_set_wakes_who_is_bound_to_it(enqueuer):
    assert list(enqueuer.of_set(cluster.ManagedClusterSet.view(set_manifest("eu")))) == keys("any", "of-eu")
    assert list(enqueuer.of_set(cluster.ManagedClusterSet.view(set_manifest("unbound")))) == []


async def test_a_binding_wakes_who_asks_for_it_or_for_all(enqueuer):
    binding = cluster.ManagedClusterSetBinding.view(binding_manifest("s"))

    assert sorted(enqueuer.of_binding(binding)) == keys("any", "of-s")


async def test_the_members_that_sets_may_have(enqueuer, env):
    exclusive, by_labels = (env.hub.get(cluster.ManagedClusterSet, name) for name in ("s", "eu"))

    assert list(enqueuer.members([exclusive])) == ["a"]
    assert list(enqueuer.members([exclusive, by_labels])) == ["a", "b", "c"]


def test_a_decision_wakes_its_placement():
    own = cluster.PlacementDecision.view(decision_manifest())
    foreign = cluster.PlacementDecision.view(decision_manifest(of=""))

    assert placements_of(own) == (f"{NAMESPACE}/p",)
    assert placements_of(foreign) == ()


async def test_a_cluster_that_changes_its_set_wakes_the_old_and_the_new(env, api):
    api.add(set_manifest("t"), binding_manifest("t"))
    api.add(placement_manifest("p", clusterSets=["s"]), placement_manifest("q", clusterSets=["t"]))
    env.add_clusters("a")

    async with env.working():
        before = env.decided("p-decision-1"), env.decided("q-decision-1")
        api.change(cluster.ManagedCluster, "a", metadata={"labels": {cluster.CLUSTER_SET_LABEL: "t"}})
        await settle()

    assert before == (["a"], [])
    assert (env.decided("p-decision-1"), env.decided("q-decision-1")) == ([], ["a"])


async def test_a_deleted_cluster_leaves_the_decisions(env, api):
    api.add(placement_manifest())
    env.add_clusters("a", "b")

    async with env.working():
        api.remove(cluster.ManagedCluster, "a")
        await settle()

    assert env.decided() == ["b"]


async def test_a_cluster_that_comes_after_its_score_is_scored(env, api):
    api.add(placement_manifest(numberOfClusters=1, prioritizerPolicy=exactly(by_score())))
    api.add(Namespace.manifest("b"), score_manifest("b", gpu=100))
    env.add_clusters("a")

    async with env.working():
        api.add(cluster_manifest("b"))
        await settle()

    assert env.decided() == ["b"]

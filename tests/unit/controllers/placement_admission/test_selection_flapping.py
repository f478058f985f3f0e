"""A config does not follow every small change of the scores, where the settings say so."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"


@pytest.fixture
async def best_of_two(env):
    """The Placement takes the better of two clusters: c1, with 10 points."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", scores=["gpuClusterAvailable"])
    env.score("c1", 10)
    env.score("c2", 0)
    env.check()


def swap(env, score, *, to="c2"):
    """Let a cluster get this score, and the Placement follow."""
    env.score(to, score)
    env.select(to)


@pytest.mark.usefixtures("best_of_two")
async def test_without_settings_every_decision_is_followed(env):
    async with env.beating():
        swap(env, 11)
        await settle()

        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("best_of_two")
async def test_a_small_gain_is_not_followed(env):
    async with env.beating(min_score_gain=20):
        swap(env, 29)
        await advance(60)
        assert env.lists() == ["gpu-c1"]
        env.score("c2", 31)
        env.api.change(cluster.Placement, "gpu", KUEUE, metadata={"labels": {"a": "b"}})
        await settle()

        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("best_of_two")
async def test_a_young_selection_stands(env):
    async with env.beating(min_dwell=300.0):
        swap(env, 50)
        await advance(60)
        assert env.lists() == ["gpu-c2"]
        swap(env, 90, to="c1")
        await advance(200)
        assert env.lists() == ["gpu-c2"]
        await advance(60)

        assert env.lists() == ["gpu-c1"]


@pytest.mark.usefixtures("best_of_two")
async def test_moves_are_counted_by_the_hour(env):
    async with env.beating(max_moves_per_hour=1):
        swap(env, 50)
        await advance(60)
        swap(env, 90, to="c1")
        await advance(3000)
        assert env.lists() == ["gpu-c2"]
        await advance(600)

        assert env.lists() == ["gpu-c1"]


@pytest.mark.usefixtures("best_of_two")
async def test_a_cluster_that_cannot_be_chosen_any_more_is_left_at_once(env):
    async with env.beating(min_score_gain=100, min_dwell=3600.0):
        taint = {"key": "maintenance", "effect": "NoSelect"}
        env.api.change(cluster.ManagedCluster, "c1", spec={"taints": [taint]})
        swap(env, 11)
        await settle()

        assert env.lists() == ["gpu-c2"]


async def test_where_more_are_selected_than_fit_the_last_place_does_not_flap_either(env):
    env.fleet("c1", "c2", "c3")
    env.placement("gpu", "c1", "c2", "c3", scores=["gpuClusterAvailable"])
    for name, score in (("c1", 50), ("c2", 20), ("c3", 10)):
        env.score(name, score)
    env.check()

    async with env.beating(limit=2, min_score_gain=20):
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        env.score("c3", 30)
        env.api.change(cluster.Placement, "gpu", KUEUE, metadata={"labels": {"a": "b"}})
        await settle()
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert "gpu-c3 (beyond the limit of 2)" in env.says("Active").message
        env.score("c3", 45)
        env.api.change(cluster.Placement, "gpu", KUEUE, metadata={"labels": {"a": "c"}})
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c3"]


async def test_a_better_cluster_that_cannot_be_used_yet_does_not_leave_its_place_empty(env):
    env.fleet("c1", "c2")
    env.cluster("c3", secret=False)
    env.placement("gpu", "c1", "c2", "c3", scores=["gpuClusterAvailable"])
    for name, score in (("c1", 50), ("c2", 20), ("c3", 90)):
        env.score(name, score)
    env.check()

    async with env.beating(limit=2):
        assert env.lists() == ["gpu-c1", "gpu-c2"]

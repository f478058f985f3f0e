"""A config does not follow every small change of the scores, where the settings say so."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"


@pytest.fixture
async def best_of_two(scene):
    """The Placement takes the better of two clusters: c1, with 10 points."""
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c1", scores=["gpuClusterAvailable"])
    scene.score("c1", 10)
    scene.score("c2", 0)
    scene.check()


def swap(scene, score, *, to="c2"):
    """Let a cluster get this score, and the Placement follow."""
    scene.score(to, score)
    scene.select(to)


@pytest.mark.usefixtures("best_of_two")
async def test_without_settings_every_decision_is_followed(scene):
    async with scene.beating():
        swap(scene, 11)
        await settle()

        assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("best_of_two")
async def test_a_small_gain_is_not_followed(scene):
    async with scene.beating(min_score_gain=20):
        swap(scene, 29)
        await advance(60)
        assert scene.lists() == ["gpu-c1"]
        scene.score("c2", 31)
        scene.api.change(cluster.Placement, "gpu", KUEUE, metadata={"labels": {"a": "b"}})
        await settle()

        assert scene.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("best_of_two")
async def test_a_young_selection_stands(scene):
    async with scene.beating(min_dwell=300.0):
        swap(scene, 50)
        await advance(60)
        assert scene.lists() == ["gpu-c2"]
        swap(scene, 90, to="c1")
        await advance(200)
        assert scene.lists() == ["gpu-c2"]
        await advance(60)

        assert scene.lists() == ["gpu-c1"]


@pytest.mark.usefixtures("best_of_two")
async def test_moves_are_counted_by_the_hour(scene):
    async with scene.beating(max_moves_per_hour=1):
        swap(scene, 50)
        await advance(60)
        swap(scene, 90, to="c1")
        await advance(3000)
        assert scene.lists() == ["gpu-c2"]
        await advance(600)

        assert scene.lists() == ["gpu-c1"]


@pytest.mark.usefixtures("best_of_two")
async def test_a_cluster_that_cannot_be_chosen_any_more_is_left_at_once(scene):
    async with scene.beating(min_score_gain=100, min_dwell=3600.0):
        taint = {"key": "maintenance", "effect": "NoSelect"}
        scene.api.change(cluster.ManagedCluster, "c1", spec={"taints": [taint]})
        swap(scene, 11)
        await settle()

        assert scene.lists() == ["gpu-c2"]


async def test_where_more_are_selected_than_fit_the_last_place_does_not_flap_either(scene):
    scene.fleet("c1", "c2", "c3")
    scene.placement("gpu", "c1", "c2", "c3", scores=["gpuClusterAvailable"])
    for name, score in (("c1", 50), ("c2", 20), ("c3", 10)):
        scene.score(name, score)
    scene.check()

    async with scene.beating(limit=2, min_score_gain=20):
        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        scene.score("c3", 30)
        scene.api.change(cluster.Placement, "gpu", KUEUE, metadata={"labels": {"a": "b"}})
        await settle()
        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert "gpu-c3 (beyond the limit of 2)" in scene.says("Active").message
        scene.score("c3", 45)
        scene.api.change(cluster.Placement, "gpu", KUEUE, metadata={"labels": {"a": "c"}})
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c3"]


async def test_a_better_cluster_that_cannot_be_used_yet_does_not_leave_its_place_empty(scene):
    scene.fleet("c1", "c2")
    scene.cluster("c3", secret=False)
    scene.placement("gpu", "c1", "c2", "c3", scores=["gpuClusterAvailable"])
    for name, score in (("c1", 50), ("c2", 20), ("c3", 90)):
        scene.score(name, score)
    scene.check()

    async with scene.beating(limit=2):
        assert scene.lists() == ["gpu-c1", "gpu-c2"]

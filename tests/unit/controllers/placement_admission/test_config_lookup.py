"""Which clusters a config shall list: those that the Placement chose, as many as fit, and only with a secret."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.testing.virtual_time import settle

KUEUE = "kueue-system"


@pytest.fixture
async def two_clusters(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c2", "c1")
    env.check("ac", "gpu")


async def test_more_clusters_than_fit_are_cut_to_the_best(env):
    names = [f"c{number:02}" for number in range(25)]
    env.fleet(*names)
    env.placement("gpu", *names, scores=["gpuClusterAvailable"])
    env.check()
    for number, name in enumerate(names):
        env.score(name, number)

    async with env.beating():
        assert env.lists() == [f"gpu-c{number:02}" for number in range(5, 25)]
        assert "gpu-c00 (beyond the limit of 20)" in env.says("Active").message
        assert len(env.members()) == 20


async def test_a_hub_with_an_older_kueue_lists_ten(env):
    names = [f"c{number:02}" for number in range(12)]
    env.fleet(*names)
    env.placement("gpu", *names)
    env.check()

    async with env.beating(limit=10):
        assert len(env.lists()) == 10


async def test_a_missing_secret_is_told_and_its_appearance_is_noticed(env):
    env.fleet("c1")
    env.cluster("c2", secret=False)
    env.placement("gpu", "c1", "c2")
    env.check()

    async with env.beating():
        assert env.lists() == ["gpu-c1"]
        assert env.says("Active").message.endswith("left out: gpu-c2 (no secret kueue-admin-c2-kubeconfig yet)")

        env.secret("c2")
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert env.says("Active").message == "MultiKueueConfig and MultiKueueCluster generated"


async def test_without_any_secret_nothing_is_listed_yet(env):
    env.cluster("c1", secret=False)
    env.placement("gpu", "c1")
    env.check()

    async with env.beating():
        assert env.lists() is None
        assert env.says("Active").reason == "NoClustersAvailable"
        assert "no secret kueue-admin-c1-kubeconfig yet" in env.says("Active").message


@pytest.mark.usefixtures("two_clusters")
async def test_a_secret_that_goes_away_does_not_unlist_its_cluster(env):
    async with env.beating():
        env.api.remove(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE)
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


async def test_a_broken_kubeconfig_of_one_cluster_does_not_stop_the_others(env):
    env.fleet("c1")
    env.cluster("c2", secret=False)
    env.api.add(core.secret("kueue-admin-c2-kubeconfig", KUEUE, {"kubeconfig": "contexts: 7"}))
    env.placement("gpu", "c1", "c2")
    env.check()

    async with env.beating():
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert env.says("Active").status == "True"


async def test_a_secret_without_a_kubeconfig_does_not_stop_the_others(env):
    env.fleet("c1")
    env.cluster("c2", secret=False)
    broken = core.Secret.manifest("kueue-admin-c2-kubeconfig", KUEUE, data={"kubeconfig": "/w=="})
    env.api.add(broken)
    env.placement("gpu", "c1", "c2")
    env.check()

    async with env.beating():
        assert env.lists() == ["gpu-c1", "gpu-c2"]


async def test_before_the_placement_has_decided_nothing_is_listed(env):
    env.fleet("c1")
    env.placement("gpu", decided=False)
    env.check()

    async with env.beating():
        assert env.lists() is None
        assert env.says("Active").reason == "NoClustersAvailable"


@pytest.mark.usefixtures("two_clusters")
async def test_a_decision_that_vanishes_drops_nobody(env):
    async with env.beating():
        env.api.remove(cluster.PlacementDecision, "gpu-decision-1", KUEUE)
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert env.says("Draining") is None


async def test_a_missing_placement_is_told_and_its_appearance_is_noticed(env):
    env.fleet("c1")
    env.check()

    async with env.beating():
        active = env.says("Active")
        assert (active.status, active.reason) == ("False", "PlacementNotFound")
        assert active.message == "Placement gpu not found in namespace kueue-system"

        env.placement("gpu", "c1")
        await settle()

        assert env.lists() == ["gpu-c1"]
        assert env.says("Active").status == "True"

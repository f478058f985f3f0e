"""A cluster that left the fleet and does not answer is given up only when Kueue gives it up."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import GIVEN_UP
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"
RUNNING = {"mk": "Ready", "ac": "Ready"}


@pytest.mark.usefixtures("running_job")
@pytest.mark.parametrize(
    "silence",
    [
        pytest.param(lambda env: env.workers["c1"].cut(), id="cannot be reached"),
        pytest.param(
            lambda env: env.workers["c1"].fail_on("list *", errors.Unauthorized("no"), times=1000),
            id="refuses our credential",
        ),
        pytest.param(
            lambda env: env.api.remove(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE), id="lost its credential"
        ),
    ],
)
async def test_a_cluster_that_left_the_fleet_and_cannot_be_asked_is_given_up_only_when_kueue_gives_it_up(env, silence):
    async with env.beating(lost_timeout=900.0):
        env.select("c2")
        await settle()
        silence(env)
        env.api.remove(cluster.ManagedCluster, "c1")
        await advance(890)
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert "its ManagedCluster is gone or another cluster's: join it again" in env.says("Draining").message
        assert "given up after 900 s of silence" in env.says("Draining").message
        await advance(60)

        assert env.lists() == ["gpu-c2"]
        assert env.members() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_kueue_lost_long_ago_is_given_up_as_soon_as_it_has_left(env):
    async with env.beating(lost_timeout=900.0):
        env.workers["c1"].cut()
        env.disconnect("gpu-c1")
        env.select("c2")
        await advance(3600)
        assert env.lists() == ["gpu-c1", "gpu-c2"]

        env.api.remove(cluster.ManagedCluster, "c1")
        await advance(30)

        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_cluster_that_left_and_answers_now_and_then_is_not_given_up(env):
    async with env.beating(lost_timeout=900.0):
        env.select("c2")
        env.api.remove(cluster.ManagedCluster, "c1")
        for _ in range(3):
            env.workers["c1"].cut()
            await advance(600)
            env.workers["c1"].heal()
            await advance(60)

        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_a_drain_that_is_forced_does_not_wait_for_a_silent_cluster(env):
    async with env.beating():
        env.workers["c1"].cut()
        env.select("c2")
        await advance(60)

        env.api.change(kueue.MultiKueueCluster, "gpu-c1", metadata={"annotations": {GIVEN_UP: "true"}})
        await advance(30)

        assert env.lists() == ["gpu-c2"]
        assert env.members() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_cluster_that_is_selected_again_forgets_that_it_was_given_up(env):
    async with env.beating():
        env.api.change(kueue.MultiKueueCluster, "gpu-c1", metadata={"annotations": {GIVEN_UP: "true"}})
        await settle()

        assert GIVEN_UP not in env.api.get(kueue.MultiKueueCluster, "gpu-c1").metadata.annotations

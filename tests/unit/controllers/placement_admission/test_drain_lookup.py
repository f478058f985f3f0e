"""What holds a dropped cluster in its config, and what keeps one that comes back out of it."""

import asyncio

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"
RUNNING = {"mk": "Ready", "ac": "Ready"}


def finish(env, name="job"):
    env.change_workload(name, finished=True, on="gpu-c1", checks=RUNNING)
    env.remove_copy("c1", name)


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(lambda env: env.workload(on="gpu-c1", checks=RUNNING), id="the hub says that a job runs there"),
        pytest.param(lambda env: env.copy("c1"), id="the worker has a copy that the hub does not know"),
        pytest.param(lambda env: env.job("c1"), id="the worker has a Job without a Workload"),
        pytest.param(lambda env: env.job("c1", workload="job"), id="the worker has a Job, and its Workload is gone"),
        pytest.param(lambda env: env.workers["c1"].cut(), id="the worker refuses connections"),
        pytest.param(lambda env: env.workers["c1"].cut(silently=True), id="the worker says nothing"),
        pytest.param(
            lambda env: env.workers["c1"].fail_on("list workloads*", errors.Forbidden("no")),
            id="the worker forbids it",
        ),
        pytest.param(
            lambda env: env.workers["c1"].fail_on("list workloads*", errors.NotFound("no CRD")), id="no Kueue there"
        ),
        pytest.param(
            lambda env: env.api.remove(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE), id="its secret is gone"
        ),
        pytest.param(
            lambda env: env.api.change(
                core.Secret, "kueue-admin-c1-kubeconfig", KUEUE, data={"kubeconfig": "bm9uc2Vuc2U="}
            ),
            id="its kubeconfig is broken",
        ),
    ],
)
async def test_it_stays_listed_while(env, arrange):
    async with env.beating():
        arrange(env)
        env.select("c2")
        await advance(300)

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert "gpu-c1" in env.says("Draining").message


@pytest.mark.usefixtures("running_job")
async def test_a_drain_ends_where_the_credential_may_not_list_jobs(env):
    env.workers["c1"].fail_on("list jobs*", errors.Forbidden("no"))

    async with env.beating():
        env.select("c2")
        await advance(300)
        assert env.lists() == ["gpu-c1", "gpu-c2"]

        finish(env)
        await advance(60)

        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_it_stays_listed_while_a_nomination_is_under_way(env, a_workload):
    async with env.beating() as heart:
        heart.dispatcher.sent_nominations.add(a_workload(), ["gpu-c1"])
        env.select("c2")
        await advance(30)
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        await advance(60)

        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_copies_of_another_hub_do_not_hold_it(env):
    env.copy("c1", "theirs", origin="another-hub")
    env.job("c1", "theirs", origin="another-hub")

    async with env.beating():
        env.select("c2")
        await advance(60)

        assert env.lists() == ["gpu-c2"]


async def test_the_origin_of_copies_is_read_from_kueues_configuration(env):
    env.fleet("c1", "c2", origin="hub-7")
    env.placement("gpu", "c1", "c2")
    env.check()
    env.copy("c1", origin="hub-7")

    async with env.beating():
        env.select("c2")
        await advance(60)

        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_silent_cluster_does_not_stall_other_placements(env):
    env.placement("cpu", "c2")
    env.check("cpu", "cpu")

    async with env.beating():
        env.workers["c1"].cut(silently=True)
        env.select("c2")
        await settle()
        env.select("c1", "c2", placement="cpu")
        await settle()

        assert env.lists("cpu") == ["cpu-c1", "cpu-c2"]


@pytest.mark.usefixtures("running_job")
async def test_several_draining_clusters_are_asked_at_once(env):
    env.cluster("c3")

    async with env.beating() as heart:
        env.select("c1", "c2", "c3")
        await settle()
        for name in ("c1", "c2", "c3"):
            env.workers[name].cut(silently=True)
        env.select()
        await settle()
        await advance(6)
        started = asyncio.get_running_loop().time()

        with pytest.raises(errors.RetryLater):
            await heart.configs.reconcile("gpu")

        assert asyncio.get_running_loop().time() - started < 10


@pytest.fixture
async def old_copy(env):
    """A job runs on c2; c1, which was given up, still has a copy of it."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c2")
    env.check()
    env.workload(on="gpu-c2", checks=RUNNING)
    env.copy("c2", admitted=True)
    env.copy("c1", admitted=True)


@pytest.mark.usefixtures("old_copy")
async def test_a_cluster_with_an_old_copy_of_a_job_that_is_elsewhere_is_not_listed_yet(env):
    async with env.beating():
        await settle()
        env.select("c1", "c2")
        await advance(600)

        assert env.lists() == ["gpu-c2"]
        assert "left out: gpu-c1 (it has old copies of jobs that are elsewhere now" in env.says("Active").message
        assert "Workload team-a/job (1 in all)" in env.says("Active").message

        env.remove_copy("c1")
        await advance(60)
        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("old_copy")
async def test_when_the_job_has_ended_elsewhere_the_cluster_is_listed(env):
    async with env.beating():
        await settle()
        env.select("c1", "c2")
        await settle()
        env.change_workload(finished=True, on="gpu-c2", checks=RUNNING)
        await advance(60)

        assert env.lists() == ["gpu-c1", "gpu-c2"]

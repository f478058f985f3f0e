"""Jobs are spread over clusters of equal score, or packed where the check asks for it."""

from collections import Counter

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.testing.virtual_time import settle

STRATEGY = "fleetqueue.dev/strategy"
NAMES = ("c1", "c2", "c3")


@pytest.fixture
async def equal_clusters(env):
    env.fleet(*NAMES)
    env.placement("gpu", *NAMES)
    env.check()


def strategy(env, value):
    env.api.change(kueue.AdmissionCheck, "ac", metadata={"annotations": {STRATEGY: value}})


async def burst(env, jobs, **options):
    """Let jobs arrive together; return how many were nominated for each member."""
    await env.connected()
    for number in range(jobs):
        env.workload(f"job-{number}", **options)
    await settle()
    return Counter(member for number in range(jobs) for member in env.nominated(f"job-{number}"))


@pytest.mark.usefixtures("equal_clusters")
@pytest.mark.parametrize("is_known", [pytest.param(True, id="queues known"), pytest.param(False, id="nothing known")])
async def test_a_burst_is_divided_equally_among_equal_clusters(env, is_known):
    for name in NAMES if is_known else ():
        env.queue(name, gpus=50)

    async with env.beating():
        counts = await burst(env, 45)

    assert counts == {"gpu-c1": 15, "gpu-c2": 15, "gpu-c3": 15}


@pytest.mark.usefixtures("equal_clusters")
async def test_a_burst_is_divided_by_the_size_of_the_queues(env):
    for name, gpus in zip(NAMES, (10, 20, 30), strict=True):
        env.queue(name, gpus=gpus)

    async with env.beating():
        counts = await burst(env, 30)

    assert counts == {"gpu-c1": 5, "gpu-c2": 10, "gpu-c3": 15}


@pytest.mark.usefixtures("equal_clusters")
async def test_what_others_use_of_a_cluster_counts(env):
    for name, used in zip(NAMES, (6, 0, 3), strict=True):
        env.queue(name, gpus=10, used=used)

    async with env.beating():
        counts = await burst(env, 9)

    assert counts == {"gpu-c2": 6, "gpu-c3": 3}


async def test_with_scores_of_ours_a_burst_follows_them_as_they_fall(env):
    """The best cluster gets jobs until, with them, it is no better than the next: then they are spread."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2", scores=["gpuClusterAvailable"])
    env.score("c1", 0)
    env.score("c2", 40)  # a GPU is worth ten points: four of them are between the two
    env.check()

    async with env.beating():
        counts = await burst(env, 10)

    assert counts == {"gpu-c1": 3, "gpu-c2": 7}


async def test_a_foreign_score_does_not_fall_so_the_best_cluster_gets_all_that_it_has_room_for(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2", scores=["carbon"])
    env.score("c1", 0, "carbon")
    env.score("c2", 1, "carbon")
    for name in ("c1", "c2"):
        env.queue(name, gpus=6)
    env.check()

    async with env.beating():
        counts = await burst(env, 10)

    assert counts == {"gpu-c1": 4, "gpu-c2": 6}


@pytest.mark.usefixtures("equal_clusters")
async def test_a_check_can_ask_for_packing_and_the_event_says_so(env):
    for name in NAMES:
        env.queue(name, gpus=4)
    strategy(env, "pack")

    async with env.beating():
        counts = await burst(env, 6)

        assert counts == {"gpu-c1": 4, "gpu-c2": 2}
        assert "gpu-c1; pack; gpu-c1: score 0, has room, 0% of its nvidia.com/gpu used; " in env.events("Nominated")[0]
        assert env.events("UnknownStrategy") == []


@pytest.mark.usefixtures("equal_clusters")
async def test_an_unknown_strategy_is_told_of_and_jobs_are_spread(env):
    strategy(env, "random")

    async with env.beating():
        counts = await burst(env, 3)

        assert counts == {"gpu-c1": 1, "gpu-c2": 1, "gpu-c3": 1}
        assert env.events("UnknownStrategy") == [
            "fleetqueue.dev/strategy is 'random', which is neither spread nor pack; jobs are spread"
        ]

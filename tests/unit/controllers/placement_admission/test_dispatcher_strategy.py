"""Jobs are spread over clusters of equal score, or packed where the check asks for it."""

from collections import Counter

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.testing.virtual_time import settle

STRATEGY = "fleetqueue.dev/strategy"
NAMES = ("c1", "c2", "c3")


@pytest.fixture
async def equal_clusters(scene):
    scene.fleet(*NAMES)
    scene.placement("gpu", *NAMES)
    scene.check()


def strategy(scene, value):
    scene.api.change(kueue.AdmissionCheck, "ac", metadata={"annotations": {STRATEGY: value}})


async def burst(scene, jobs, **options):
    """Let jobs arrive together; return how many were nominated for each member."""
    await scene.connected()
    for number in range(jobs):
        scene.workload(f"job-{number}", **options)
    await settle()
    return Counter(member for number in range(jobs) for member in scene.nominated(f"job-{number}"))


@pytest.mark.usefixtures("equal_clusters")
@pytest.mark.parametrize("is_known", [pytest.param(True, id="queues known"), pytest.param(False, id="nothing known")])
async def test_a_burst_is_divided_equally_among_equal_clusters(scene, is_known):
    for name in NAMES if is_known else ():
        scene.queue(name, gpus=50)

    async with scene.beating():
        counts = await burst(scene, 45)

    assert counts == {"gpu-c1": 15, "gpu-c2": 15, "gpu-c3": 15}


@pytest.mark.usefixtures("equal_clusters")
async def test_a_burst_is_divided_by_the_size_of_the_queues(scene):
    for name, gpus in zip(NAMES, (10, 20, 30), strict=True):
        scene.queue(name, gpus=gpus)

    async with scene.beating():
        counts = await burst(scene, 30)

    assert counts == {"gpu-c1": 5, "gpu-c2": 10, "gpu-c3": 15}


@pytest.mark.usefixtures("equal_clusters")
async def test_what_others_use_of_a_cluster_counts(scene):
    for name, used in zip(NAMES, (6, 0, 3), strict=True):
        scene.queue(name, gpus=10, used=used)

    async with scene.beating():
        counts = await burst(scene, 9)

    assert counts == {"gpu-c2": 6, "gpu-c3": 3}


async def test_with_scores_of_ours_a_burst_follows_them_as_they_fall(scene):
    """The best cluster gets jobs until, with them, it is no better than the next: then they are spread."""
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c1", "c2", scores=["gpuClusterAvailable"])
    scene.score("c1", 0)
    scene.score("c2", 40)  # a GPU is worth ten points: four of them are between the two
    scene.check()

    async with scene.beating():
        counts = await burst(scene, 10)

    assert counts == {"gpu-c1": 3, "gpu-c2": 7}


async def test_a_foreign_score_does_not_fall_so_the_best_cluster_gets_all_that_it_has_room_for(scene):
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c1", "c2", scores=["carbon"])
    scene.score("c1", 0, "carbon")
    scene.score("c2", 1, "carbon")
    for name in ("c1", "c2"):
        scene.queue(name, gpus=6)
    scene.check()

    async with scene.beating():
        counts = await burst(scene, 10)

    assert counts == {"gpu-c1": 4, "gpu-c2": 6}


@pytest.mark.usefixtures("equal_clusters")
async def test_a_check_can_ask_for_packing_and_the_event_says_so(scene):
    for name in NAMES:
        scene.queue(name, gpus=4)
    strategy(scene, "pack")

    async with scene.beating():
        counts = await burst(scene, 6)

        assert counts == {"gpu-c1": 4, "gpu-c2": 2}
        assert (
            "gpu-c1; pack; gpu-c1: score 0, has room, 0% of its nvidia.com/gpu used; " in scene.events("Nominated")[0]
        )
        assert scene.events("UnknownStrategy") == []


@pytest.mark.usefixtures("equal_clusters")
async def test_an_unknown_strategy_is_told_of_and_jobs_are_spread(scene):
    strategy(scene, "random")

    async with scene.beating():
        counts = await burst(scene, 3)

        assert counts == {"gpu-c1": 1, "gpu-c2": 1, "gpu-c3": 1}
        assert scene.events("UnknownStrategy") == [
            "fleetqueue.dev/strategy is 'random', which is neither spread nor pack; jobs are spread"
        ]

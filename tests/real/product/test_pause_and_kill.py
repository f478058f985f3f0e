"""Our controllers killed between any two of their writes and replaced; Kueue restarted; workers cut and healed.

In all of these at most one live copy of a job exists, counted on the workers, every drain ends, and the job completes.
"""

import asyncio

import pytest

ALL = {"cluster1", "cluster2", "cluster3"}
SETTINGS = {"drain_timeout": 1.0, "drain_poll": 0.5, "linger": 0.5}
WRITES = 14
"""As many as the story takes, from the first finalizer to the end of the drain."""


async def story(stage, heart):
    """Nominate, admit, drop the cluster, drain by timeout, start elsewhere: the whole way of a job that must move."""
    await stage.lists(*ALL)
    await stage.connected(*ALL)
    await stage.submit("job", run_for="5s")
    await moved_and_done(stage)


async def moved_and_done(stage):
    async def started():
        return stage.witness.live(f"{stage.name}/job")

    (first,) = await stage.eventually(started, "the job starts")
    await stage.select(*(ALL - {first}))
    await stage.finished("job")
    await stage.lists(*(ALL - {first}))


async def with_a_successor(stage, heart):
    """Wait until a heart dies, and start the next one, as a Deployment would."""
    await heart.door.dead.wait()
    await heart.kill()
    await stage.start_heart(**SETTINGS)


async def run_to_the_end(stage, heart):
    succession = asyncio.create_task(with_a_successor(stage, heart))
    try:
        await story(stage, heart)
    finally:
        succession.cancel()
        await asyncio.wait({succession})
        await stage.kill_hearts()


async def test_the_story_has_that_many_writes(stage):
    heart = await stage.start_heart(**SETTINGS)

    await run_to_the_end(stage, heart)

    assert WRITES - 4 <= len(heart.door.writes) <= WRITES + 4, heart.door.writes


@pytest.mark.parametrize("arrives", [False, True], ids=["the write is lost", "the write arrives"])
@pytest.mark.parametrize("number", range(1, WRITES + 1))
async def test_killed_at_any_write_the_job_runs_once_and_ends(stage, number, arrives):
    heart = await stage.start_heart(dies_at=number, answers_last=arrives, **SETTINGS)

    await run_to_the_end(stage, heart)

    async def over():
        return (await stage.workload("job")).is_finished

    await stage.eventually(over, "the Workload says so too")
    assert stage.witness.doubles == []


async def test_kueue_restarted_while_jobs_are_nominated_run_and_drain(stage):
    async with stage.heart(**{**SETTINGS, "drain_timeout": 0.0}):
        await stage.lists(*ALL)
        for number in range(4):
            await stage.submit(f"job{number}", run_for="30s")  # longer than a restart takes on a busy machine
        await stage.world.fleet.restart("hub/kueue")
        places = [await stage.running_on(f"job{number}") for number in range(4)]
        await stage.select(*(ALL - {places[0]}))
        await stage.world.fleet.restart("hub/kueue")
        for number in range(4):
            await stage.finished(f"job{number}")

        await stage.lists(*(ALL - {places[0]}))
        assert stage.witness.doubles == []


@pytest.mark.parametrize("how", ["refuse", "hang"])
async def test_a_worker_cut_and_healed_neither_loses_nor_doubles_its_job(stage, how):
    async with stage.heart(**SETTINGS):
        await stage.submit("job", run_for="20s")
        first = await stage.running_on("job")
        cut = {} if how == "refuse" else {"how": "hang"}
        await stage.world.fleet.cut(first, **cut)
        await asyncio.sleep(4)
        await stage.select(*(ALL - {first}))
        await asyncio.sleep(2)
        await stage.world.fleet.heal(first)

        await stage.finished("job")
        await stage.lists(*(ALL - {first}))
        assert stage.witness.doubles == []


async def test_a_nominated_worker_that_is_cut_is_waited_for(stage):
    """No other cluster is nominated while the job may run on the one that cannot be asked."""
    await stage.select("cluster1")
    await stage.admit_nothing("cluster1")
    async with stage.heart(nomination_timeout=2.0, drain_poll=1.0):
        await stage.lists("cluster1")
        await stage.submit("job", run_for="3s")

        async def nominated():
            workload = await stage.workload("job")
            return workload is not None and workload.status.nominated_cluster_names

        await stage.eventually(nominated, "the job is nominated")
        await stage.world.fleet.cut("cluster1")
        await stage.select("cluster1", "cluster2")
        await asyncio.sleep(5)

        assert (await stage.workload("job")).status.nominated_cluster_names == (f"{stage.name}-cluster1",)
        await stage.world.fleet.heal("cluster1")
        await stage.finished("job")
        assert stage.witness.doubles == []

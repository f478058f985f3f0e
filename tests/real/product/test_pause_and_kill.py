"""Our controllers killed between any two of their writes and replaced; Kueue restarted; workers cut and healed.

In all of these at most one live copy of a job exists, counted on the workers, every drain ends, and the job completes.
"""

import asyncio

import pytest

ALL = {"cluster1", "cluster2", "cluster3"}
SETTINGS = {"drain_timeout": 1.0, "drain_poll": 0.5, "linger": 0.5}
WRITES = 14
"""As many as the story takes, from the first finalizer to the end of the drain."""
SOONER = {(3, True), (6, False), (9, True), (12, False)}
"""Those that every `make test` asks; the embedded fleet is asked all of them each time."""


async def story(env, heart):
    """Nominate, admit, drop the cluster, drain by timeout, start elsewhere: the whole way of a job that must move."""
    await env.lists(*ALL)
    await env.connected(*ALL)
    await env.submit("job", run_for="5s")
    await moved_and_done(env)


async def moved_and_done(env):
    async def started():
        return env.witness.live(f"{env.name}/job")

    (first,) = await env.eventually(started, "the job starts")
    await env.select(*(ALL - {first}))
    await env.finished("job")
    await env.lists(*(ALL - {first}))


async def with_a_successor(env, heart):
    """Wait until a heart dies, and start the next one, as a Deployment would."""
    await heart.door.dead.wait()
    await heart.kill()
    await env.start_heart(**SETTINGS)


async def run_to_the_end(env, heart):
    succession = asyncio.create_task(with_a_successor(env, heart))
    try:
        await story(env, heart)
    finally:
        succession.cancel()
        await asyncio.wait({succession})
        await env.kill_hearts()


async def test_the_story_has_that_many_writes(env):
    heart = await env.start_heart(**SETTINGS)

    await run_to_the_end(env, heart)

    assert WRITES - 4 <= len(heart.door.writes) <= WRITES + 4, heart.door.writes


@pytest.mark.parametrize(
    ("number", "arrives"),
    [
        pytest.param(
            number,
            arrives,
            id=f"{number}-the write {'arrives' if arrives else 'is lost'}",
            marks=() if (number, arrives) in SOONER else pytest.mark.long,
        )
        for number in range(1, WRITES + 1)
        for arrives in (False, True)
    ],
)
async def test_killed_at_any_write_the_job_runs_once_and_ends(env, number, arrives):
    heart = await env.start_heart(dies_at=number, answers_last=arrives, **SETTINGS)

    await run_to_the_end(env, heart)

    async def over():
        return (await env.workload("job")).is_finished

    await env.eventually(over, "the Workload says so too")
    assert env.witness.doubles == []


async def test_kueue_restarted_while_jobs_are_nominated_run_and_drain(env):
    async with env.heart(**{**SETTINGS, "drain_timeout": 0.0}):
        await env.lists(*ALL)
        for number in range(4):
            await env.submit(f"job{number}", run_for="30s")  # longer than a restart takes on a busy machine
        await env.world.fleet.restart("hub/kueue")
        places = [await env.running_on(f"job{number}") for number in range(4)]
        await env.select(*(ALL - {places[0]}))
        await env.world.fleet.restart("hub/kueue")
        for number in range(4):
            await env.finished(f"job{number}")

        await env.lists(*(ALL - {places[0]}))
        assert env.witness.doubles == []


@pytest.mark.parametrize("how", ["refuse", "hang"])
async def test_a_worker_cut_and_healed_neither_loses_nor_doubles_its_job(env, how):
    async with env.heart(**SETTINGS):
        await env.submit("job", run_for="20s")
        first = await env.running_on("job")
        cut = {} if how == "refuse" else {"how": "hang"}
        await env.world.fleet.cut(first, **cut)
        await asyncio.sleep(4)
        await env.select(*(ALL - {first}))
        await asyncio.sleep(2)
        await env.world.fleet.heal(first)

        await env.finished("job")
        await env.lists(*(ALL - {first}))
        assert env.witness.doubles == []


async def test_a_nominated_worker_that_is_cut_is_waited_for(env):
    """No other cluster is nominated while the job may run on the one that cannot be asked."""
    await env.select("cluster1")
    await env.admit_nothing("cluster1")
    async with env.heart(nomination_timeout=2.0, drain_poll=1.0):
        await env.lists("cluster1")
        await env.submit("job", run_for="3s")

        async def nominated():
            workload = await env.workload("job")
            return workload is not None and workload.status.nominated_cluster_names

        await env.eventually(nominated, "the job is nominated")
        await env.world.fleet.cut("cluster1")
        await env.select("cluster1", "cluster2")
        await asyncio.sleep(5)

        assert (await env.workload("job")).status.nominated_cluster_names == (f"{env.name}-cluster1",)
        await env.world.fleet.heal("cluster1")
        await env.finished("job")
        assert env.witness.doubles == []

"""Work that is tried again and again: its failure comes back, and who is told to stop stops, whatever fails then."""

import asyncio

import pytest

from fleetqueue.runtime.attempts import attempt
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time


async def fail_after(seconds):
    await asyncio.sleep(seconds)
    raise RuntimeError("no")


async def in_a_group(seconds):
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fail_after(seconds))
        await asyncio.Event().wait()


async def again_and_again(seconds):
    while True:
        try:
            (await attempt(in_a_group(seconds))).result()
        except ExceptionGroup:
            pass


async def test_a_result_and_a_failure_come_back():
    done, failed = await attempt(asyncio.sleep(1, "done")), await attempt(fail_after(1))

    assert done.result() == "done"
    with pytest.raises(RuntimeError, match="no"):
        failed.result()


async def test_who_is_told_to_stop_ends_the_work_first():
    ended = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            ended.append(True)

    task = asyncio.create_task(attempt(work()))
    await settle()
    task.cancel()
    await asyncio.wait({task})

    assert (task.cancelled(), ended) == (True, [True])


@pytest.mark.parametrize("turns", range(8))
async def test_a_failure_at_that_moment_does_not_hide_that_somebody_was_told_to_stop(turns):
    task = asyncio.create_task(again_and_again(5))
    await asyncio.sleep(5)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await advance(60)

    assert task.cancelled()

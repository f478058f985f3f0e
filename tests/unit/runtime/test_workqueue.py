"""A queue of keys: each once, never two at a time, and later with every failure."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.runtime.workqueue import FIRST_RETRY, LAST_RETRY, WorkQueue
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time


@pytest.fixture
def queue():
    return WorkQueue()


async def drain(queue):
    """Take all that waits."""
    taken = []
    while len(queue):
        key = await queue.take()
        taken.append(key)
        queue.done(key)
    return taken


async def test_a_key_that_waits_is_not_added_twice(queue):
    for key in ("a", "b", "a", "a"):
        queue.add(key)

    assert await drain(queue) == ["a", "b"]


async def test_a_key_added_while_it_is_worked_on_comes_again_afterwards(queue):
    queue.add("a")
    await queue.take()

    queue.add("a")
    queue.add("a")
    while_working = len(queue)
    queue.done("a")

    assert while_working == 0
    assert await drain(queue) == ["a"]


async def test_a_key_that_is_done_does_not_come_again_by_itself(queue):
    queue.add("a")
    await drain(queue)

    assert queue.is_idle


async def test_idle_means_that_nothing_waits_and_nothing_is_worked_on(queue):
    queue.add("a")
    waiting = queue.is_idle
    await queue.take()
    working = queue.is_idle
    queue.done("a")

    assert (waiting, working, queue.is_idle) == (False, False, True)


async def test_who_waits_is_woken_by_a_key(queue):
    taking = asyncio.create_task(queue.take())
    await settle()
    waited = not taking.done()

    queue.add("a")

    assert waited
    assert await taking == "a"


async def test_two_workers_never_have_the_same_key(queue):
    takers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await settle()

    queue.add("a")
    queue.add("b")
    queue.add("a")
    await settle()

    assert sorted(taker.result() for taker in takers if taker.done()) == ["a", "b"]
    for taker in takers:
        taker.cancel()


async def test_a_worker_that_gives_up_waiting_takes_no_key_with_it(queue):
    taking = asyncio.create_task(queue.take())
    await settle()
    queue.add("a")
    taking.cancel()

    await asyncio.wait({taking})

    assert await drain(queue) == ["a"]


async def test_a_key_wakes_one_worker_only(queue):
    workers = [asyncio.create_task(queue.take()) for _ in range(3)]
    await settle()

    queue.add("a")
    await settle()

    assert [worker.done() for worker in workers] == [True, False, False]
    for worker in workers[1:]:
        worker.cancel()
    await asyncio.wait(workers)


async def test_a_worker_that_is_stopped_when_it_is_woken_leaves_the_key_to_another(queue):
    first, second = (asyncio.create_task(queue.take()) for _ in range(2))
    await settle()

    queue.add("a")
    first.cancel()
    await settle()

    assert first.cancelled()
    assert second.result() == "a"


async def test_a_key_can_be_asked_for_later(queue):
    queue.add_after("a", 30)

    await advance(29)
    early = len(queue)
    await advance(1)

    assert early == 0
    assert await drain(queue) == ["a"]


@pytest.mark.parametrize("delays", [(30, 5), (5, 30), (5, 5, 30)])
async def test_of_several_times_the_earliest_counts(queue, delays):
    for delay in delays:
        queue.add_after("a", delay)

    await advance(5)
    first = await drain(queue)
    await advance(100)

    assert first == ["a"]
    assert await drain(queue) == []


async def test_a_time_in_the_past_is_now(queue):
    queue.add_after("a", -5)

    await settle()

    assert await drain(queue) == ["a"]


async def test_a_timer_that_ends_during_work_brings_the_key_again(queue):
    queue.add("a")
    await queue.take()
    queue.add_after("a", 1)

    await advance(1)
    queue.done("a")

    assert await drain(queue) == ["a"]


async def test_a_wish_for_later_outlives_an_earlier_look(queue):
    queue.add_after("a", 1)
    queue.add("a")
    queue.done(await queue.take())

    await advance(2)

    assert await drain(queue) == ["a"]


async def test_each_failure_waits_longer_up_to_a_limit(queue):
    delays = []
    for _ in range(15):
        delays.append(queue.retry("a"))
        await advance(LAST_RETRY * 2)

    assert all(FIRST_RETRY * 2**n * 0.8 <= delay <= FIRST_RETRY * 2**n * 1.2 for n, delay in enumerate(delays[:10]))
    assert all(LAST_RETRY * 0.8 <= delay <= LAST_RETRY * 1.2 for delay in delays[11:])


async def test_a_key_that_fails_for_days_is_still_tried(queue):
    for _ in range(2000):
        delay = queue.retry("a")

    assert delay <= LAST_RETRY * 1.2


async def test_forgetting_starts_patience_anew(queue):
    for _ in range(10):
        queue.retry("a")

    queue.forget("a")

    assert queue.retry("a") <= FIRST_RETRY * 1.2


async def test_the_patience_of_one_key_is_not_that_of_another(queue):
    for _ in range(10):
        queue.retry("a")

    assert queue.retry("b") <= FIRST_RETRY * 1.2


async def test_a_key_comes_back_no_earlier_than_a_server_asked_for(queue):
    queue.add_after("a", 5)  # as for something else

    assert queue.retry("a", at_least=20) == 20
    queue.add("a")
    queue.add_after("a", 1)
    await advance(19)
    early = await drain(queue)
    await advance(1)

    assert early == []
    assert await drain(queue) == ["a"]
    queue.add("a")
    assert await drain(queue) == ["a"]


async def test_a_key_that_is_asked_for_during_work_waits_as_well(queue):
    queue.add("a")
    await queue.take()
    queue.add("a")
    queue.retry("a", at_least=20)
    queue.done("a")

    await advance(19)

    assert await drain(queue) == []


async def test_a_server_that_asks_for_less_than_our_patience_does_not_shorten_it(queue):
    for _ in range(12):
        delay = queue.retry("a", at_least=1)

    assert delay >= LAST_RETRY * 0.8


async def test_forgetting_an_unknown_key_does_nothing(queue):
    queue.forget("a")

    assert queue.is_idle


async def test_after_closing_no_timer_ends(queue):
    queue.add_after("a", 5)

    queue.close()
    await advance(10)

    assert queue.is_idle
    assert clock.monotonic() == 10

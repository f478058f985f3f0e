"""Time that jumps: nothing waits, nothing is skipped, and what can never end says so."""

import asyncio
import threading
import time

import pytest

from fleetqueue import clock
from fleetqueue.testing import virtual_time
from fleetqueue.testing.virtual_time import START, Stuck, advance, run, running, settle

pytestmark = pytest.mark.virtual_time


async def test_a_year_costs_nothing():
    began = time.monotonic()

    await asyncio.sleep(365 * 24 * 3600)

    assert time.monotonic() - began < 1
    assert clock.monotonic() == 365 * 24 * 3600


async def test_timers_end_in_their_order():
    ended = []

    async def wait(seconds):
        await asyncio.sleep(seconds)
        ended.append((seconds, clock.monotonic()))

    await asyncio.gather(*(wait(seconds) for seconds in (3, 1, 2)))

    assert ended == [(1, 1), (2, 2), (3, 3)]


async def test_settling_lets_everything_happen_that_needs_no_time():
    steps = []

    async def work():
        for number in range(100):
            await asyncio.sleep(0)
            steps.append(number)
        await asyncio.sleep(0.001)
        steps.append("later")

    async with running(work()):
        await settle()

        assert steps == list(range(100))
        assert clock.monotonic() == 0


async def test_the_last_of_a_wait_passes_too():
    """A timer may be due a little early; who then waits for the rest must not be woken at once, for ever."""
    deadline = clock.monotonic() + 0.0000005

    while clock.monotonic() < deadline:  # noqa: ASYNC110 - just this is asked
        await asyncio.sleep(deadline - clock.monotonic())

    assert clock.monotonic() >= deadline


async def test_two_may_settle_at_once():
    await asyncio.gather(settle(), settle())


async def test_advancing_includes_what_is_due_at_the_end():
    happened = []
    asyncio.get_running_loop().call_later(5, happened.append, "due")

    await advance(5)

    assert happened == ["due"]


async def test_timeouts_count_in_virtual_time():
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await asyncio.Event().wait()

    assert clock.monotonic() == 3600


async def test_threads_are_waited_for_and_time_stands_still():
    async with asyncio.timeout(0.001):
        answer = await asyncio.to_thread(lambda: time.sleep(0.01) or "done")

    assert answer == "done"
    assert clock.monotonic() == 0


def test_what_waits_for_nothing_is_stuck():
    async def wait_for_ever():
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match="every task waits"):
        run(wait_for_ever())


def test_those_who_wake_each_other_without_end_are_named(monkeypatch):
    monkeypatch.setattr(virtual_time, "MOST_TURNS", 1000)

    async def hand_on(mine, other):
        while True:
            await mine.wait()
            mine.clear()
            other.set()

    async def quarrel():
        ping, pong = asyncio.Event(), asyncio.Event()
        await asyncio.sleep(5)
        ping.set()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(hand_on(ping, pong), name="ping")
            tasks.create_task(hand_on(pong, ping), name="pong")

    with pytest.raises(Stuck, match=r"time stands still at 5 s, since these never rest: p[io]ng"):
        run(quarrel())


def test_much_that_is_done_at_one_moment_is_no_standstill(monkeypatch):
    monkeypatch.setattr(virtual_time, "MOST_TURNS", 1000)

    async def work():
        for _ in range(3):
            for _ in range(900):
                await asyncio.sleep(0)
            await asyncio.sleep(1)

    run(work())


def test_a_run_gives_its_result_and_ends_with_its_threads():
    async def work():
        await asyncio.to_thread(time.sleep, 0.001)
        await asyncio.sleep(60)
        return clock.now()

    assert (run(work()) - START).total_seconds() == 60


def test_the_same_seed_gives_the_same_run():
    async def draw():
        return [clock.suffix() for _ in range(3)]

    assert run(draw(), seed=1) == run(draw(), seed=1) != run(draw(), seed=2)


async def test_what_runs_beside_is_stopped_at_the_end():
    stopped = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)

    async with running(work()):
        await settle()

    assert stopped == [True]


async def test_a_failure_of_what_runs_beside_is_not_lost():
    async def work():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with running(work()):
            await settle()


@pytest.mark.parametrize("failure", [KeyError, AssertionError])
async def test_a_failure_of_the_body_is_the_one_that_is_raised(failure):
    with pytest.raises(failure):
        async with running(asyncio.sleep(1e9)):
            raise failure


async def test_time_stands_still_until_what_is_expected_from_outside_has_arrived():
    loop = asyncio.get_running_loop()
    answer = loop.create_future()
    loop.expect("answer", "an answer")

    def arrive():
        loop.arrived("answer")
        answer.set_result(clock.monotonic())

    outside = threading.Timer(0.05, lambda: loop.call_soon_threadsafe(arrive))
    outside.start()
    timer = asyncio.create_task(asyncio.sleep(1))

    assert await answer == 0
    await timer
    outside.join()


async def test_what_never_arrives_is_named(monkeypatch):
    monkeypatch.setattr(virtual_time, "PATIENCE", 0.01)

    async def wait():
        asyncio.get_running_loop().expect("answer", "GET /version")
        await asyncio.sleep(1)

    with pytest.raises(Stuck, match=r"not within 0\.01 s: GET /version"):
        await asyncio.to_thread(run, wait())


async def test_no_process_is_started():
    with pytest.raises(OSError, match="no process can be started in virtual time"):
        await asyncio.create_subprocess_exec("true")

"""Time and chance come from one place, and that place can be replaced."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.clock import SystemClock
from fleetqueue.testing.virtual_time import START, ShiftedClock, VirtualClock


def test_the_time_is_utc_and_now():
    before = datetime.now(UTC)

    now = clock.now()

    assert now.tzinfo is UTC
    assert before <= now <= datetime.now(UTC)


def test_seconds_since_the_boot_go_on_and_the_boot_has_one_name():
    before = clock.since_boot()

    assert clock.since_boot() >= before > 0
    assert clock.boot() == clock.boot()


def test_a_machine_that_does_not_tell_its_boot_has_none(monkeypatch, tmp_path):
    monkeypatch.setattr(clock, "BOOT_ID", tmp_path / "missing")

    assert clock.boot() == ""


def test_another_clock_counts_only_inside_the_block():
    with clock.use(ShiftedClock(timedelta(days=365))):
        inside = clock.now()

    assert inside - clock.now() > timedelta(days=364)


def test_the_clock_comes_back_after_a_failure():
    with pytest.raises(RuntimeError), clock.use(ShiftedClock(timedelta(days=365))):
        raise RuntimeError

    assert clock.now() - datetime.now(UTC) < timedelta(minutes=1)


@pytest.mark.virtual_time
async def test_tasks_live_by_the_clock_of_who_started_them():
    async def year():
        await asyncio.sleep(1)
        return clock.now().year

    with clock.use(ShiftedClock(timedelta(days=3650))):
        shifted = asyncio.create_task(year())
    plain = asyncio.create_task(year())

    assert await shifted > await plain


@pytest.mark.virtual_time
async def test_virtual_time_passes_only_by_waiting():
    began = clock.monotonic()

    await asyncio.sleep(3600)

    assert clock.monotonic() - began == 3600
    assert clock.now() == START + timedelta(hours=1)


@pytest.mark.parametrize("spread", [0.0, 0.2, 0.5])
def test_jitter_stays_within_its_spread(spread):
    drawn = [clock.jitter(10.0, spread) for _ in range(200)]

    assert all(10 * (1 - spread) <= seconds <= 10 * (1 + spread) for seconds in drawn)


def test_the_same_seed_draws_the_same():
    def draw():
        with clock.use(VirtualClock(seed=7)):
            return clock.jitter(1.0), clock.between(0, 100), clock.suffix()

    assert draw() == draw()


def test_two_system_clocks_draw_differently():
    def draw():
        with clock.use(SystemClock()):
            return clock.suffix(20)

    assert draw() != draw()


def test_a_suffix_has_the_letters_of_generated_names():
    drawn = clock.suffix(1000)

    assert len(drawn) == 1000
    assert set(drawn) <= set("bcdfghjklmnpqrstvwxz2456789")

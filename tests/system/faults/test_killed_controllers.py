"""Our controllers killed at each write while a job moves, and its worker cut off: it runs once at a time, and ends.

The same table as tests/real/product/test_pause_and_kill.py has for real Kueue, with our Kueue and MultiKueue on the
virtual clock.
"""

import pytest

from fleetqueue.fleets.crashes import Life
from fleetqueue.testing import virtual_time
from fleetqueue.testing.virtual_time import running

from .moving_job import MovingJob
from .seeds import unlogged

WRITES = 14
"""As many as the way of the job takes, from the first finalizer to the end of the drain."""


async def lived(life: Life) -> MovingJob:
    async with MovingJob.open() as moving:
        async with running(moving.succession(life)):
            await moving.move()
    return moving


def play(life: Life) -> MovingJob:
    with unlogged():
        return virtual_time.run(lived(life))


def test_the_way_of_the_job_has_that_many_writes():
    life = Life()

    play(life)

    assert len(life.writes) == WRITES, life.writes


@pytest.mark.parametrize("arrives", [False, True], ids=["the write is lost", "the write arrives"])
@pytest.mark.parametrize("number", range(1, WRITES + 1))
def test_killed_at_any_write_the_job_runs_once_and_ends(number, arrives):
    life = Life(dies_at=number, last_write_arrives=arrives)

    moving = play(life)

    assert life.dead.is_set()
    assert moving.monitor.doubles == []


async def cut_and_healed(*, silently: bool) -> MovingJob:
    async with MovingJob.open() as moving, moving.controllers(Life()):
        first = await moving.start(seconds=20)
        moving.fleet.cut(first, silently=silently)
        await moving.fleet.advance(4)
        moving.drop(first)
        await moving.fleet.advance(2)
        moving.fleet.heal(first)
        await moving.end_without(first)
    return moving


@pytest.mark.parametrize("silently", [False, True], ids=["refuse", "hang"])
def test_a_worker_cut_and_healed_neither_loses_nor_doubles_its_job(silently):
    with unlogged():
        moving = virtual_time.run(cut_and_healed(silently=silently))

    assert moving.monitor.doubles == []

"""Waiting for Enter: a line at a time, and never in the way of anything else."""

import asyncio
import os

import pytest

from fleetqueue.cli.enter_key import end_of_line


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            pass  # the test closed it


async def test_each_line_lets_one_wait_end(pipe):
    reading, writing = pipe
    os.write(writing, b"\nno matter what is typed\n")

    assert await end_of_line(reading)
    assert await end_of_line(reading)


async def test_at_the_end_nobody_can_press_it_any_more(pipe):
    reading, writing = pipe
    os.close(writing)

    assert not await end_of_line(reading)


@pytest.fixture
def nothing():
    descriptor = os.open(os.devnull, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


async def test_where_nobody_can_press_it_nothing_is_waited_for(nothing):
    assert not await end_of_line(nothing)


async def test_a_wait_can_be_interrupted(pipe):
    waiting = asyncio.create_task(end_of_line(pipe[0]))
    await asyncio.sleep(0)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting

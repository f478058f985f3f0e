"""Telling a story in a terminal, or into a file."""

import asyncio
import io
import os

import pytest

from fleetqueue.cli import story_terminal
from fleetqueue.cli.progress import PATIENCE
from fleetqueue.cli.story_terminal import LONG_OUTPUT, Terminal, end_of_line, may_be_pressed, shortened
from fleetqueue.demo.expectations import ExpectationOutcome
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time


async def told(*steps) -> str:
    stream = io.StringIO()
    terminal = Terminal(stream)
    for name, argument in steps:
        result = getattr(terminal, name)(argument)
        if asyncio.iscoroutine(result):
            await result
    return stream.getvalue()


async def test_a_file_gets_plain_lines():
    text = await told(
        ("title", "Story 1"),
        ("say", "As an admin"),
        ("command", "kubectl get jobs"),
        ("output", "NAME\nx\n"),
        ("reason", "it fits"),
        ("outcome", ExpectationOutcome("S1-1", True, 1.26)),
        ("outcome", ExpectationOutcome("S1-2", False, 60.0, "seen: nothing")),
    )

    assert text.splitlines() == [
        "",
        "Story 1",
        "───────",
        "  As an admin",
        "",
        "  $ kubectl get jobs",
        "    NAME",
        "    x",
        "    why: it fits",
        "  ✓ S1-1   the MultiKueueClusters are Active: Connected  1.3s",
        "  ✗ S1-2   the MultiKueue check is Active: The admission check is active  60.0s",
        "           seen: nothing",
    ]


async def test_a_long_wait_is_shown_and_a_short_one_is_not():
    stream = io.StringIO()
    terminal = Terminal(stream)

    terminal.waiting("S1-1: connected")
    await advance(PATIENCE / 2)
    terminal.outcome(ExpectationOutcome("S1-1", True, 1.0))
    terminal.waiting("S1-5: finished")
    await advance(PATIENCE * 2)

    assert "S1-1: connected" not in stream.getvalue()
    assert "... waiting for S1-5: finished" in stream.getvalue()


async def test_what_a_command_reads_is_shown_with_it():
    text = await told(("command", "kubectl apply -f - <<EOF\nkind: Job\nEOF"))

    assert text.splitlines() == ["", "  $ kubectl apply -f - <<EOF", "  kind: Job", "  EOF"]


async def test_with_steps_it_stops_before_each_command_until_nobody_can_press_enter(monkeypatch):
    presses = iter([True, False])

    async def enter() -> bool:
        return next(presses)

    monkeypatch.setattr(story_terminal, "enter", enter)
    stream = io.StringIO()
    terminal = Terminal(stream, step=True)

    for name in ("one", "two", "three"):
        await terminal.command(f"kubectl get {name}")

    assert stream.getvalue().count("(Enter)") == 2
    assert "the rest is told without stops" in stream.getvalue()


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_colours_a_terminal_gets_plain_lines(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Screen()

    Terminal(screen).title("Story 1")

    assert screen.getvalue() == "\nStory 1\n───────\n"


def test_long_output_is_cut_in_its_middle():
    lines = [str(number) for number in range(100)]

    cut = shortened(lines)

    assert (cut[0], cut[-1], len(cut)) == ("0", "99", LONG_OUTPUT + 1)
    assert "... 76 lines ..." in cut


def test_short_output_is_left_alone():
    assert shortened(["a", "b"]) == ["a", "b"]


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


def test_enter_can_come_through_a_pipe_and_not_from_nothing(pipe, nothing):
    assert may_be_pressed(os.fdopen(pipe[0], closefd=False))
    assert not may_be_pressed(os.fdopen(nothing, closefd=False))
    assert not may_be_pressed(io.StringIO())
    assert not may_be_pressed(None)


async def test_a_wait_can_be_interrupted(pipe):
    waiting = asyncio.create_task(end_of_line(pipe[0]))
    await asyncio.sleep(0)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting

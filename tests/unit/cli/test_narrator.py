"""Telling a story in a terminal, or into a file."""

import asyncio
import io

import pytest

from fleetqueue.cli import enter_key
from fleetqueue.cli.narrator import LONG_OUTPUT, Terminal, shortened
from fleetqueue.cli.progress import PATIENCE
from fleetqueue.demo.expectations import Outcome
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
        ("outcome", Outcome("S1-1", True, 1.26)),
        ("outcome", Outcome("S1-2", False, 60.0, "seen: nothing")),
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
    terminal.outcome(Outcome("S1-1", True, 1.0))
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

    monkeypatch.setattr(enter_key, "enter", enter)
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

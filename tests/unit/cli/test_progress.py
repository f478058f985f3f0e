"""What a long step shows: lines everywhere, and something that moves only where somebody looks."""

import io
import os

import pytest

from fleetqueue.cli import progress
from fleetqueue.cli.progress import Progress, may_move, wants_colours

HIDE_CURSOR, SHOW_CURSOR, ERASE_LINE = "\x1b[?25l", "\x1b[?25h", "\x1b[2K"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Timer:
    """Stands for the thread that waits; the test says when its time has come."""

    def __init__(self, seconds, call):
        self.call = call
        self.is_cancelled = False

    def start(self):
        pass

    def cancel(self):
        self.is_cancelled = True


@pytest.fixture(autouse=True)
def somebody_looks(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def timers(monkeypatch):
    """The waits that were begun; each can be told to end, as if it were the running thread."""
    made = []

    def make(seconds, call):
        made.append(Timer(seconds, call))
        return made[-1]

    def end(timer):
        monkeypatch.setattr(progress.threading, "current_thread", lambda: timer)
        timer.call()

    monkeypatch.setattr(progress.threading, "Timer", make)
    return made, end


@pytest.fixture
def spinners(monkeypatch):
    """What moved, and whether it still does."""
    moving = []

    class Spinner:
        def __init__(self, stream, text):
            moving.append(text)

        def stop(self):
            moving.pop()

    monkeypatch.setattr(progress, "spinner", Spinner)
    return moving


def test_a_line_comes_with_the_seconds():
    stream = io.StringIO()

    Progress(stream)("hub answers")

    assert stream.getvalue() == "   0.0s  hub answers\n"


def test_something_moves_after_a_silence_and_stands_still_at_the_next_line(timers, spinners):
    made, end = timers
    report = Progress(Screen())

    report("starting")
    end(made[0])
    assert spinners == [progress.AT_WORK]
    report("hub answers")

    assert spinners == []
    assert len(made) == 2


def test_a_line_that_comes_in_time_keeps_everything_still(timers, spinners):
    made, end = timers
    report = Progress(Screen())

    report("starting")
    report("hub answers")
    end(made[0])

    assert made[0].is_cancelled
    assert spinners == []


def test_nothing_moves_after_the_end(timers, spinners):
    made, end = timers

    with Progress(Screen()) as report:
        report("starting")
        end(made[0])

    assert spinners == []


def test_a_fleet_that_is_up_may_say_something_without_moving(timers, spinners):
    made, _ = timers
    report = Progress(Screen())

    report.settle()
    report("hub/kueue is restarted")

    assert made == []


@pytest.fixture
def terminal():
    """A real terminal: what is written to it, and what one sees there."""
    seen, written = os.openpty()
    with os.fdopen(written, "w") as stream:
        yield stream, lambda: os.read(seen, 4096).decode()
    os.close(seen)


def shown_until(look, text):
    """Look at a terminal until a text was there."""
    shown = ""
    while text not in shown:
        shown += look()
    return shown


def test_a_terminal_shows_that_work_goes_on_and_is_left_as_it_was(monkeypatch, terminal):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    stream, look = terminal

    with Progress(stream) as report:
        report("starting")
        moving = shown_until(look, progress.AT_WORK)
    left = shown_until(look, SHOW_CURSOR)

    assert moving.splitlines()[0] == "   0.0s  starting"
    assert HIDE_CURSOR in moving
    assert left.endswith((SHOW_CURSOR, ERASE_LINE))


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        pytest.param(Screen(), {"TERM": "xterm"}, True, id="a terminal"),
        pytest.param(io.StringIO(), {"TERM": "xterm"}, False, id="a file"),
        pytest.param(Screen(), {"TERM": "xterm", "NO_COLOR": "1"}, False, id="somebody who wants it plain"),
        pytest.param(Screen(), {"TERM": "xterm", "CI": "true"}, False, id="a pipeline with a terminal"),
        pytest.param(Screen(), {"TERM": "dumb"}, False, id="a terminal that cannot"),
    ],
)
def test_something_moves_only_where_somebody_looks(stream, environ, wanted):
    assert may_move(stream, environ) is wanted


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        pytest.param({"TERM": "xterm"}, True, id="a terminal"),
        pytest.param({"TERM": "xterm", "NO_COLOR": ""}, True, id="NO_COLOR without a value says nothing"),
        pytest.param({"TERM": "xterm", "NO_COLOR": "1"}, False, id="somebody who wants none"),
        pytest.param({"TERM": "dumb"}, False, id="a terminal without colours"),
    ],
)
def test_colours_are_for_those_who_want_them(environ, wanted):
    assert wants_colours(environ) is wanted

"""A log line is an event with fields, for people or for programs."""

import io
import json
import logging

import pytest

from fleetqueue.runtime import logs
from fleetqueue.runtime.logs import Log


@pytest.fixture
def lines():
    """Set up logging into memory, and put back what was before."""
    root = logging.getLogger("fleetqueue")
    before = root.handlers[:], root.level, root.propagate
    stream = io.StringIO()

    def set_up(**settings):
        logs.set_up(stream=stream, **settings)
        return stream

    yield set_up
    for handler in root.handlers:
        handler.close()
    root.handlers[:], root.level, root.propagate = before[0], before[1], before[2]


def test_a_line_for_people(lines):
    stream = lines(json=False)

    Log("room").info("config written", check="ac", clusters=2)

    moment, rest = stream.getvalue().split(" ", 1)
    assert moment.count(":") == 2
    assert rest == "I room: config written check=ac clusters=2\n"


def test_a_line_for_programs(lines):
    stream = lines(json=True)

    Log("room").warning("watch failed", error=ValueError("no"), count=2)

    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("+00:00")
    assert line == {"level": "warning", "logger": "fleetqueue.room", "event": "watch failed", "error": "no", "count": 2}


@pytest.mark.parametrize("as_json", [True, False])
def test_an_exception_comes_with_its_traceback(lines, as_json):
    stream = lines(json=as_json)

    try:
        raise ZeroDivisionError("by nothing")
    except ZeroDivisionError:
        Log("room").exception("reconcile failed", key="a")

    assert "ZeroDivisionError: by nothing" in stream.getvalue()
    assert "Traceback" in stream.getvalue()


@pytest.mark.parametrize("name", ["time", "logger", "message", "name", "args", "msg"])
def test_no_field_name_breaks_a_line(lines, name):
    stream = lines(json=True)

    Log("room").info("something", **{name: "mine"})

    assert json.loads(stream.getvalue())["event"] == "something"


def test_a_field_cannot_hide_the_level(lines):
    stream = lines(json=True)

    Log("room").info("something", level="mine")

    assert json.loads(stream.getvalue())["level"] == "info"


def test_lines_below_the_level_are_left_out(lines):
    stream = lines(json=False, level="warning")

    Log("room").info("quiet")
    Log("room").debug("quieter")
    Log("room").warning("loud")

    assert "quiet" not in stream.getvalue()
    assert "loud" in stream.getvalue()


def test_setting_up_twice_does_not_double_lines(lines):
    lines(json=False)
    stream = lines(json=False)

    Log("room").info("once")

    assert stream.getvalue().count("once") == 1


def test_a_line_break_in_a_field_does_not_make_two_json_lines(lines):
    stream = lines(json=True)

    Log("room").info("said", words="a\nb")

    assert stream.getvalue().count("\n") == 1


def test_tags_are_on_every_line_within(lines):
    stream = lines(json=False)

    with logs.tagged(pod="ns/p"):
        Log("room").info("inside", key="a")
    Log("room").info("outside")

    inside, outside = stream.getvalue().splitlines()
    assert inside.endswith("inside pod=ns/p key=a")
    assert outside.endswith("outside")


def test_a_file_that_has_grown_large_is_put_aside(lines, tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "LARGE_BYTES", 100)
    file = tmp_path / "parts.log"
    lines(json=False, file=file)

    for number in range(3):
        Log("storage").info("written", about="x" * 100, number=number)

    assert "number=2" in file.read_text()
    assert "number=1" in (tmp_path / "parts.log.1").read_text()
    assert len(list(tmp_path.iterdir())) == 2

"""The lines of a job that is followed: live on a terminal, whole when they stay, one for each change elsewhere."""

import io
import json
from datetime import UTC, datetime

import pytest

from fleetqueue.admin.job_phases import JobPhase
from fleetqueue.cli.options import OutputFormat
from fleetqueue.cli.phase_lines import PhaseLines

LONG = "queued in q: it waits in ClusterQueue cq; Kueue has not said why: of several equal jobs, of the first alone"


def phase(word, text, seconds=0):
    return JobPhase("default", "Job/train", word, text, datetime(2026, 1, 1, tzinfo=UTC), seconds)


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def rows(self):
        """Return what stands on the terminal in the end."""
        return [row.rpartition("\x1b[2K")[2] for row in self.getvalue().removesuffix("\n").split("\n")]


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


def test_a_line_that_is_too_long_is_cut_while_it_is_live_and_whole_when_it_stays(terminal):
    with PhaseLines(terminal) as lines:
        lines.show(phase("queued", LONG))
        assert len(terminal.rows()[-1]) == 79
        lines.show(phase("reserved", "quota reserved", 2))

    *whole, last = terminal.rows()
    assert " ".join(row.strip() for row in whole) == f"0s  {LONG}"
    assert [row[:8] for row in whole] == ["    0s  ", " " * 8]
    assert last == "    2s  quota reserved"


def test_a_line_of_the_same_phase_is_written_over(terminal):
    with PhaseLines(terminal) as lines:
        lines.show(phase("running", "running on c1, 0 of 2 pods ready"))
        lines.show(phase("running", "running on c1, 2 of 2 pods ready", 3))

    assert terminal.rows() == ["    3s  running on c1, 2 of 2 pods ready"]


def test_a_line_that_stays_says_when_its_phase_began(terminal):
    with PhaseLines(terminal) as lines:
        lines.show(phase("running", "running on c1, 0 of 2 pods ready", 3))
        lines.show(phase("running", "running on c1, 2 of 2 pods ready", 9))
        lines.show(phase("succeeded", "succeeded on c1 after 8s", 11))

    assert [row.strip() for row in terminal.rows()] == [
        "3s  running on c1, 2 of 2 pods ready",
        "\x1b[32m   11s  succeeded on c1 after 8s\x1b[0m",
    ]


def test_elsewhere_each_change_is_a_line_and_nothing_is_cut():
    stream = io.StringIO()
    with PhaseLines(stream) as lines:
        for one in (phase("queued", LONG), phase("queued", LONG, 1), phase("reserved", "quota reserved", 2)):
            lines.show(one)

    assert stream.getvalue() == f"    0s  {LONG}\n    2s  quota reserved\n"


def test_programs_get_a_line_of_json_for_each_change():
    stream = io.StringIO()
    with PhaseLines(stream, OutputFormat.JSON) as lines:
        lines.show(phase("queued", "queued in q"))

    assert json.loads(stream.getvalue())["phase"] == "queued"

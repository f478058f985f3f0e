"""How an explanation is written: within the width of a terminal, with the age of what is told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.chains import ChainLink
from fleetqueue.admin.explanation_text import as_text
from fleetqueue.admin.explanations import Explanation
from fleetqueue.admin.step_commands import commands_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PART = {
    "name": "gpuClusterAvailable",
    "value": 70,
    "weight": 2,
    "valid_until": NOW + timedelta(minutes=4),
    "fresh": "True",
    "fresh_since": NOW - timedelta(hours=1),
}
ROW = {
    "placement": "gpu",
    "cluster": "cluster1",
    "rule": "Chosen",
    "rank": 1,
    "score": 0,
    "scores": [],
    "why": "the Placement has chosen it",
    "connected": "yes",
    "connected_since": NOW - timedelta(minutes=20),
    "draining": False,
    "dispatcher": "score 0, no room now, 100% of its cpu used",
    "dispatcher_said_at": NOW - timedelta(seconds=7),
    "worker": "nominated, and has not admitted it yet",
    "worker_said_at": None,
    "score_parts": [PART],
}
LINK = ChainLink("AdmissionCheck", "placement-demo2", "ok", "placement placement-demo2 selects " + "2 clusters " * 9)
EXPLANATION = Explanation("Job/train", Cause("Nominated", "it waits " * 20, "wait"), [LINK], [ROW], NOW)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_nothing_is_wider_than_the_terminal_and_columns_stay_apart(width):
    lines = as_text([EXPLANATION], "table", width).splitlines()

    assert max(map(len, lines)) <= width
    (heading,) = [line for line in lines if line.startswith("STATE")]
    below = lines[lines.index(heading) + 1 : lines.index("", lines.index(heading))]
    assert all(line[: heading.index("SAYS")].endswith("  ") or not line.strip() for line in below)
    assert " ".join(line[heading.index("SAYS") :].strip() for line in below) == LINK.says.strip()


STOPPED = 'kubectl -n team-a patch localqueue gpu --type merge -p \'{"spec":{"stopPolicy":"None"}}\''
WORKER = "kubectl --context CONTEXT -n team-a describe workload job-train-0a1b2"


@pytest.mark.parametrize(
    ("step", "command"),
    [
        pytest.param(f"{STOPPED}; a job that was created meanwhile must be created again", STOPPED, id="first"),
        pytest.param(f"wait a moment, or ask the worker: `{WORKER}`, with your context of c1", WORKER, id="within"),
        pytest.param(f"{WORKER}, with your context of cluster1", WORKER, id="with a context"),
    ],
)
def test_no_line_ends_within_a_command(step, command):
    text = as_text([replace(EXPLANATION, cause=Cause("Nominated", "it waits", step))], "table", 60)

    assert commands_of(step) == [command]
    assert any(command in line for line in text.splitlines())


def test_where_nobody_looks_each_row_is_a_line():
    assert len([line for line in as_text([EXPLANATION], "table").splitlines() if "cluster1" in line]) == 1


def test_a_terminal_that_is_too_narrow_gets_lines_as_they_are():
    assert as_text([EXPLANATION], "table", 20).splitlines()[-1] == as_text([EXPLANATION], "table").splitlines()[-1]


def test_facts_tell_how_old_they_are():
    said = as_text([EXPLANATION], "table")

    assert "yes, for 20m" in said
    assert "nominated, and has not admitted it yet; score 0, no room now, 100% of its cpu used, 7s ago" in said


@pytest.mark.parametrize(
    ("part", "scores"),
    [
        pytest.param({}, "0: gpuClusterAvailable 70 x 2 (good for 4m)", id="measured"),
        pytest.param({"weight": 1, "valid_until": None}, "0: gpuClusterAvailable 70", id="for ever"),
        pytest.param(
            {"value": None, "valid_until": NOW - timedelta(minutes=1)},
            "0: gpuClusterAvailable none x 2 (expired)",
            id="expired",
        ),
        pytest.param({"fresh": "False"}, "0: gpuClusterAvailable 70 x 2 (not measured for 60m)", id="a silent agent"),
    ],
)
def test_scores_tell_how_old_they_are(part, scores):
    row = {**ROW, "score_parts": [{**PART, **part}]}

    assert f"   {scores}   " in as_text([replace(EXPLANATION, clusters=[row])], "table")


def test_a_sentence_that_has_a_full_stop_gets_no_second_one():
    said = as_text([Explanation("LocalQueue q", Cause("Pending", 'there is no flavor "ghost".', "wait"))], "table")

    assert said.splitlines()[1] == 'There is no flavor "ghost".'

"""Stages are data: read from files, and refused where they make no sense."""

import pytest

from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.nodes.stages import asked_seconds, load, parse


def a_pod(annotations=None, command=(), args=()):
    container = {"name": "main", "command": list(command), "args": list(args)}
    metadata = {
        "name": "pod",
        "uid": "u",
        "annotations": annotations or {},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return Pod.view({"metadata": metadata, "spec": {"containers": [container]}})


@pytest.mark.parametrize(
    ("pod", "seconds"),
    [
        pytest.param(a_pod(), 2, id="nothing said"),
        pytest.param(a_pod({"fleetqueue.dev/run-for": "1m"}, args=["30s"]), 60, id="the annotation comes first"),
        pytest.param(a_pod(args=["30s"]), 30, id="the first argument"),
        pytest.param(a_pod(args=["1h30m"]), 5400, id="in parts"),
        pytest.param(a_pod(command=["sh", "-c"], args=["echo a; sleep 45"]), 45, id="a sleep in the command line"),
        pytest.param(a_pod(command=["sleep", "2m"]), 120, id="a sleep with a unit"),
        pytest.param(a_pod({"fleetqueue.dev/run-for": "soon"}), 2, id="what is no time is not meant"),
    ],
)
def test_how_long_a_pod_runs(pod, seconds):
    assert asked_seconds(pod) == seconds


@pytest.mark.parametrize("name", ["fast", "general"])
def test_the_files_can_be_read_and_every_life_ends(name):
    stages = load(name)

    assert {"Running", "Ended", "Stopped", "Gone"} <= {stage.next for stage in stages}


def test_a_time_between_two_is_the_same_in_every_look():
    stage = parse({"name": "runs", "after": {"from": "1s", "to": "5s"}, "next": "Running"})

    due = stage.due(a_pod())

    assert due == stage.due(a_pod())
    assert 1 <= due.second <= 5


@pytest.mark.parametrize(
    ("stage", "why"),
    [
        ({"name": "x", "next": "Flying"}, "next must be one of"),
        ({"name": "x", "next": "Gone", "after": "soon"}, "is no time"),
    ],
)
def test_nonsense_is_refused(stage, why):
    with pytest.raises(ValueError, match=why):
        parse(stage)

"""The monitor: it sees every job that runs on two workers at a moment, however short."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.demo.double_runs import SingleRunMonitor, is_running

from .conftest import job, workload


def view(**kwargs) -> Job:
    return Job.view(job(**kwargs))


RUNS, WAITS, ENDED = view(suspend=False), view(suspend=True), view(suspend=False, complete=True)


@pytest.mark.parametrize(
    ("found", "runs"),
    [
        pytest.param(RUNS, True, id="unsuspended"),
        pytest.param(WAITS, False, id="suspended"),
        pytest.param(ENDED, False, id="ended"),
    ],
)
def test_is_running(found, runs):
    assert is_running(found) is runs


@pytest.mark.parametrize(
    ("changes", "doubles"),
    [
        pytest.param([("a", None, RUNS), ("b", None, WAITS)], 0, id="one runs, one waits"),
        pytest.param([("a", None, RUNS), ("b", None, RUNS)], 1, id="both run"),
        pytest.param([("a", None, RUNS), ("a", RUNS, None), ("b", None, RUNS)], 0, id="one after the other"),
        pytest.param([("a", None, RUNS), ("a", RUNS, WAITS), ("b", None, RUNS)], 0, id="suspended before the other"),
        pytest.param([("a", None, RUNS), ("a", RUNS, ENDED), ("b", None, RUNS)], 0, id="ended before the other"),
        pytest.param([("a", None, RUNS), ("a", RUNS, RUNS)], 0, id="the same copy, changed"),
        pytest.param([("a", None, RUNS), ("b", None, RUNS), ("a", RUNS, None)], 1, id="for a moment only"),
    ],
)
def test_doubles_are_remembered(changes, doubles):
    monitor = SingleRunMonitor()

    for cluster, old, new in changes:
        monitor.see(cluster, old, new)

    assert len(monitor.doubles) == doubles


def test_copies_that_are_gone_are_remembered():
    monitor, copy = SingleRunMonitor(), kueue.Workload.view(workload("w"))

    monitor.see("a", None, copy)
    monitor.see("b", None, copy)
    monitor.see("b", copy, None)

    assert monitor.copies == {"default/w": {"a", "b"}}

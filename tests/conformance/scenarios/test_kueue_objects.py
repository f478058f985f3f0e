"""What a user can see of a Job or a Workload makes a difference to the scenarios; when it happened does not."""

import copy

import pytest

from .kueue_objects import job, workload
from .multikueue.end_state import normal

START, END, LATER = "2026-01-01T00:00:01Z", "2026-01-01T00:00:16Z", "2026-01-01T01:00:00Z"


def ended_job():
    done = {"type": "Complete", "status": "True", "reason": "Done", "message": "all", "lastTransitionTime": END}
    return {
        "metadata": {"name": "a", "uid": "j-uid", "labels": {"l": "v"}},
        "spec": {"suspend": False, "template": {"metadata": {"annotations": {"fleetqueue.dev/run-for": "15s"}}}},
        "status": {
            "startTime": START,
            "completionTime": END,
            "succeeded": 3,
            "completedIndexes": "0-2",
            "uncountedTerminatedPods": {},
            "conditions": [done],
        },
    }


def admitted_workload():
    reserved = {"type": "QuotaReserved", "status": "True", "reason": "R", "message": "m", "observedGeneration": 1}
    assigned = {"clusterQueue": "q", "podSetAssignments": [{"name": "main", "count": 3}]}
    return {
        "metadata": {"name": "job-a-12345", "uid": "w-uid", "finalizers": ["f"]},
        "spec": {"queueName": "q", "priority": 0, "active": True, "podSets": [{"name": "main", "count": 3}]},
        "status": {"admission": assigned, "conditions": [reserved]},
    }


def without(made, *path):
    found = copy.deepcopy(made)
    inner = found
    for part in path[:-1]:
        inner = inner[part]
    del inner[path[-1]]
    return found


@pytest.mark.parametrize(
    "path",
    [
        ("metadata", "labels"),
        ("spec", "suspend"),
        ("status", "startTime"),
        ("status", "completionTime"),
        ("status", "succeeded"),
        ("status", "completedIndexes"),
        ("status", "uncountedTerminatedPods"),
        ("status", "conditions"),
        ("status", "conditions", 0, "reason"),
        ("status", "conditions", 0, "message"),
    ],
)
def test_it_is_seen_that_a_job_lacks_something(path):
    assert job(without(ended_job(), *path)) != job(ended_job())


@pytest.mark.parametrize(
    "path",
    [
        ("metadata", "finalizers"),
        ("spec", "priority"),
        ("spec", "queueName"),
        ("spec", "podSets", 0, "count"),
        ("status", "admission"),
        ("status", "admission", "podSetAssignments"),
        ("status", "conditions", 0, "observedGeneration"),
    ],
)
def test_it_is_seen_that_a_workload_lacks_something(path):
    assert workload(without(admitted_workload(), *path)) != workload(admitted_workload())


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        pytest.param(START, END, (True, True), id="as it was"),
        pytest.param(END, END, (False, True), id="started too late"),
        pytest.param(START, LATER, (True, False), id="completed at another time"),
    ],
)
def test_the_times_of_a_job_fit_together(start, end, words):
    ended = ended_job()
    ended["status"] |= {"startTime": start, "completionTime": end}

    found = job(ended)

    assert (found["ran its time"], found["ended when it says so"]) == words


def fleet(*, moment=START):
    hub, copied = ended_job(), ended_job()
    copied["metadata"]["uid"] = "other-uid"
    copied["status"]["startTime"] = moment
    nothing = {"workloads": [], "queues": [], "local queues": [], "events": [], "clusters": [], "checks": []}
    return {
        "hub": {**nothing, "jobs": [hub]},
        "cluster1": {**nothing, "jobs": [copied]},
        "cluster2": {**nothing, "jobs": []},
    }


def test_a_job_of_the_hub_has_the_times_of_its_copy():
    assert normal(fleet(), [], "m000-")["hub"]["jobs"]["a"]["same status on"] == ["cluster1"]
    assert normal(fleet(moment=END), [], "m000-")["hub"]["jobs"]["a"]["same status on"] == []

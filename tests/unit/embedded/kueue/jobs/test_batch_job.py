"""What Kueue reads from a Job and writes into it: pod sets, starting, stopping."""

import pytest

from fleetqueue.embedded.kueue.jobs.batch_job import ended_indexes
from fleetqueue.embedded.kueue.jobs.pod_set_info import of_admission, of_pod_sets
from tests.unit.embedded.kueue.job_objects import template

from .objects import JOBS, flavor, job, workload


@pytest.mark.parametrize(
    ("spec", "status", "count"),
    [
        pytest.param({"parallelism": 3}, {"succeeded": 1}, 1, id="one of three"),
        pytest.param({"parallelism": 3, "completions": 9}, {"succeeded": 1}, 0, id="work enough for all"),
        pytest.param({"parallelism": 3, "completions": 9}, {"succeeded": 7}, 1, id="two are left"),
        pytest.param({"parallelism": 1}, {"succeeded": 1}, 0, id="only one pod"),
        pytest.param(
            {"parallelism": 3, "completions": 3, "completionMode": "Indexed"},
            {"completedIndexes": "0", "failedIndexes": "0,2"},
            2,
            id="indexes that ended",
        ),
    ],
)
def test_pods_that_will_not_come_again(spec, status, count):
    found = JOBS.reclaimable({**job(**spec), "status": status})

    assert found == ([{"name": "main", "count": count}] if count else [])


@pytest.mark.parametrize(
    ("listed", "count"), [(["0,3-5"], 4), (["0-9"], 6), (["", "2"], 1), (["x", "5-3"], 0), (["0-2", "1-3"], 4)]
)
def test_ended_indexes(listed, count):
    assert ended_indexes(listed, 6) == count


def test_the_pod_set_of_a_job_has_no_label_of_its_controller():
    raw = job(pods=template(labels={"team": "a", "controller-uid": "x", "batch.kubernetes.io/job-name": "j"}))

    made = JOBS.pod_sets(raw)[0]

    assert made["template"]["metadata"]["labels"] == {"team": "a", "batch.kubernetes.io/job-name": "j"}
    assert made["topologyRequest"] == {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}


def test_of_twin_variables_the_last_one_counts():
    pods = template()
    pods["spec"]["containers"][0]["env"] = [{"name": "a", "value": "1"}, {"name": "b"}, {"name": "a", "value": "2"}]

    made = JOBS.pod_sets(job(pods=pods))[0]

    assert made["template"]["spec"]["containers"][0]["env"] == [{"name": "a", "value": "2"}, {"name": "b"}]


def test_stopping_is_suspend_then_forget_the_start_then_restore():
    raw = job()
    made = workload(raw, admitted=True)
    running = {**JOBS.started(raw, of_admission(made, flavor)), "status": {"startTime": "T", "active": 1}}
    steps = []

    while (step := JOBS.next_stop(running, of_pod_sets(made))) is not None:
        steps.append((step.subresource, JOBS.is_suspended(step.wanted)))
        running = step.wanted

    assert steps == [("", False), ("status", False), ("", True)]
    assert running["spec"] == {**raw["spec"], "suspend": True}
    assert running["metadata"] == raw["metadata"]

"""Lists of indexes; and failures of single ones: which are given up, which pod waits, what its successor is told."""

import pytest

from fleetqueue.api.batch_v1 import INDEX, Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.job_indexes import (
    FAILURES,
    IGNORED,
    annotations,
    failed_indexes,
    kept_pods,
    parse,
    render,
)

IGNORE_3 = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}]}
GIVE_UP_9 = {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [9]}}]}


def a_job(limit=1, policy=None, failed="", completions=5):
    spec = {"completionMode": "Indexed", "completions": completions, "parallelism": completions}
    spec |= {"backoffLimitPerIndex": limit, "podFailurePolicy": policy}
    return Job.view({"metadata": {"name": "job"}, "spec": spec, "status": {"failedIndexes": failed}})


def a_pod(index=0, failures=0, ignored=0, code=1, minute=0):
    notes = {INDEX: str(index), FAILURES: str(failures), **({IGNORED: str(ignored)} if ignored else {})}
    end = {"exitCode": code, "finishedAt": f"2026-01-01T00:{minute:02}:00Z"}
    return Pod.view(
        {
            "metadata": {"name": f"p{index}-{failures}", "uid": f"{index}-{failures}-{minute}", "annotations": notes},
            "status": {"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": end}}]},
        }
    )


@pytest.mark.parametrize(
    ("job", "pods", "indexes"),
    [
        pytest.param(a_job(), [], set(), id="none"),
        pytest.param(a_job(), [a_pod(2)], set(), id="within its limit"),
        pytest.param(a_job(), [a_pod(2, failures=1)], {2}, id="beyond its limit"),
        pytest.param(a_job(limit=0), [a_pod(2)], {2}, id="no failure is allowed"),
        pytest.param(a_job(failed="0,1"), [a_pod(3, failures=1)], {0, 1, 3}, id="and those before"),
        pytest.param(a_job(failed="3,4", completions=4), [], {3}, id="without those that the Job has no more"),
        pytest.param(a_job(policy=IGNORE_3), [a_pod(2, failures=1, code=3)], set(), id="a failure that is ignored"),
        pytest.param(a_job(limit=5, policy=GIVE_UP_9), [a_pod(2, code=9)], {2}, id="a failure that ends its index"),
        pytest.param(a_job(limit=None), [a_pod(2, failures=9)], set(), id="no limit for single indexes"),
    ],
)
def test_failed_indexes(job, pods, indexes):
    assert failed_indexes(job, pods) == indexes


def test_the_last_failed_pod_of_an_index_waits_for_its_successor():
    first, last, other = a_pod(0, minute=1), a_pod(0, failures=1, minute=2), a_pod(1)

    assert kept_pods([last, first, other], active=[], settled=set()) == {0: last, 1: other}


def test_no_pod_waits_whose_index_runs_or_is_settled():
    assert kept_pods([a_pod(0), a_pod(1), a_pod(2)], active=[a_pod(1)], settled={0}) == {2: a_pod(2)}


@pytest.mark.parametrize(
    ("job", "replaced", "told"),
    [
        pytest.param(a_job(limit=None), None, {}, id="nothing without such a limit"),
        pytest.param(a_job(), None, {FAILURES: "0"}, id="the first of its index"),
        pytest.param(a_job(), a_pod(failures=1), {FAILURES: "2"}, id="one failure more"),
        pytest.param(a_job(policy=IGNORE_3), a_pod(code=3), {FAILURES: "0", IGNORED: "1"}, id="an ignored one more"),
        pytest.param(
            a_job(policy=IGNORE_3), a_pod(failures=1, ignored=2), {FAILURES: "2", IGNORED: "2"}, id="ignored before"
        ),
    ],
)
def test_a_new_pod_is_told_the_failures_before_it(job, replaced, told):
    assert annotations(job, replaced) == told


@pytest.mark.parametrize(
    ("text", "indexes"), [("", []), ("1,3-5,7", [1, 3, 4, 5, 7]), ("0-1", [0, 1]), ("x,2", [2]), ("8-12", [8, 9])]
)
def test_indexes_are_read(text, indexes):
    assert sorted(parse(text, 10)) == indexes


@pytest.mark.parametrize(
    ("indexes", "text"), [([], ""), ([1], "1"), ([1, 2], "1,2"), ([3, 1, 2], "1-3"), ([1, 3, 4, 5, 7], "1,3-5,7")]
)
def test_indexes_are_written_as_kubernetes_does(indexes, text):
    assert render(indexes) == text

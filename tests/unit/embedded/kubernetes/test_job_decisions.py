"""What a Job needs, decided from what is seen: every branch is a row."""

from datetime import timedelta

import pytest

from fleetqueue.api.batch_v1 import INDEX, TRACKING, Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes import job_indexes, job_policies, job_status
from fleetqueue.embedded.kubernetes.job_plan import decide
from fleetqueue.embedded.kubernetes.job_tally import Failures, next_failures, tally
from fleetqueue.testing.virtual_time import START


def at(seconds):
    return timestamp(START + timedelta(seconds=seconds))


def a_job(status=None, deleting=False, **spec):
    metadata = {"name": "job", "namespace": "default", "uid": "job-uid", "creationTimestamp": at(0)}
    if deleting:
        metadata["deletionTimestamp"] = at(0)
    return Job.view({"metadata": metadata, "spec": spec, "status": status or {}})


def a_pod(
    name, phase="Running", *, index=None, tracked=True, deleting=False, ended=None, code=1, ready=False, node="n"
):
    metadata = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": at(0)}
    if index is not None:
        metadata["annotations"] = {INDEX: str(index)}
    if tracked:
        metadata["finalizers"] = [TRACKING]
    if deleting:
        metadata["deletionTimestamp"] = at(0)
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]}
    if ended is not None:
        end = {"exitCode": 0 if phase == "Succeeded" else code, "finishedAt": at(ended)}
        status["containerStatuses"] = [{"name": "main", "state": {"terminated": end}}]
    return Pod.view({"metadata": metadata, "spec": {"nodeName": node}, "status": status})


def decided(job, pods, failures=None, seconds=100):
    return decide(job, pods, tally(job, pods), failures or Failures(), START + timedelta(seconds=seconds))


RUNNING = [a_pod("a"), a_pod("b")]
INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}


@pytest.mark.parametrize(
    ("job", "pods", "create"),
    [
        pytest.param(a_job(), [], [None], id="one pod where nothing is said"),
        pytest.param(a_job(parallelism=3, completions=2), [], [None] * 2, id="no more than completions"),
        pytest.param(a_job(parallelism=3), RUNNING, [None], id="a work queue fills up to its parallelism"),
        pytest.param(a_job({"succeeded": 1}, parallelism=3), RUNNING, [], id="a work queue stops at a success"),
        pytest.param(a_job(parallelism=0), [], [], id="a parallelism of nothing"),
        pytest.param(a_job({"succeeded": 1}, parallelism=2, completions=2), [], [None], id="what succeeded is kept"),
        pytest.param(a_job(**INDEXED), [a_pod("a", index=1)], [0, 2], id="the lowest free indexes"),
        pytest.param(a_job({"completedIndexes": "0-1"}, **INDEXED), [], [2], id="indexes that succeeded are over"),
        pytest.param(a_job(suspend=True), [], [], id="suspended"),
        pytest.param(a_job(deleting=True), [], [], id="being deleted"),
        pytest.param(a_job(), [a_pod("a", deleting=True)], [None], id="a pod that is deleted is replaced at once"),
        pytest.param(
            a_job(podReplacementPolicy="Failed"), [a_pod("a", deleting=True)], [], id="or only when it has ended"
        ),
    ],
)
def test_which_pods_are_made(job, pods, create):
    assert list(decided(job, pods).create) == create


@pytest.mark.parametrize(
    ("job", "pods", "deleted"),
    [
        pytest.param(a_job(parallelism=2, completions=2), RUNNING, [], id="none is too many"),
        pytest.param(a_job(parallelism=1, completions=2), RUNNING, ["a"], id="one is"),
        pytest.param(
            a_job(parallelism=1, completions=2), [a_pod("a", ready=True), a_pod("b")], ["b"], id="the unready one goes"
        ),
        pytest.param(
            a_job(parallelism=1, completions=2), [a_pod("a"), a_pod("b", node="")], ["b"], id="the unscheduled one goes"
        ),
        pytest.param(a_job(suspend=True, parallelism=2, completions=2), RUNNING, ["a", "b"], id="all, when suspended"),
        pytest.param(
            a_job(**INDEXED), [a_pod("a", index=0), a_pod("b", index=0)], ["a"], id="one of two on the same index"
        ),
        pytest.param(a_job(**INDEXED), [a_pod("a", index=7)], ["a"], id="one whose index is not there"),
        pytest.param(a_job(**INDEXED), [a_pod("a")], ["a"], id="one without index"),
    ],
)
def test_which_pods_are_removed(job, pods, deleted):
    plan = decided(job, pods)

    assert [pod.name for pod in plan.delete] == deleted
    assert not (plan.delete and plan.is_counted)


FAILED = [a_pod("a", "Failed", ended=95)]


@pytest.mark.parametrize(
    ("job", "pods", "reason"),
    [
        pytest.param(a_job(), FAILED, None, id="within the limit"),
        pytest.param(a_job(backoffLimit=0), FAILED, "BackoffLimitExceeded", id="beyond it"),
        pytest.param(a_job({"failed": 7}), [], "BackoffLimitExceeded", id="by what was counted before"),
        pytest.param(
            a_job({"startTime": at(0)}, activeDeadlineSeconds=100), RUNNING, "DeadlineExceeded", id="past the deadline"
        ),
        pytest.param(
            a_job({"startTime": at(0)}, activeDeadlineSeconds=100, suspend=True),
            [],
            None,
            id="suspended has no deadline",
        ),
        pytest.param(
            a_job({"conditions": [{"type": "FailureTarget", "status": "True", "reason": "Old"}]}),
            [],
            "Old",
            id="as decided",
        ),
        pytest.param(
            a_job(**INDEXED, successPolicy={"rules": [{"succeededIndexes": "0"}]}),
            [a_pod("a", "Succeeded", index=0, ended=1)],
            "SuccessPolicy",
            id="enough indexes",
        ),
    ],
)
def test_how_it_ends(job, pods, reason):
    plan = decided(job, pods)

    assert (plan.ending.reason if plan.ending else None) == reason


@pytest.mark.parametrize(
    ("failures", "left"), [(0, 0), (1, 5), (2, 15), (3, 35), (7, 595), (50, 595)], ids=lambda value: str(value)
)
def test_the_pause_doubles_up_to_ten_minutes(failures, left):
    last = START + timedelta(seconds=95)

    assert Failures(failures, last).seconds_left(START + timedelta(seconds=100)) == left


def test_a_success_starts_the_count_of_failures_anew():
    pods = [a_pod("a", "Failed", ended=10), a_pod("b", "Succeeded", ended=20), a_pod("c", "Failed", ended=30)]
    counted = tally(a_job(parallelism=3, completions=3), pods)

    assert next_failures(Failures(4, START), counted) == Failures(1, START + timedelta(seconds=30))


def test_a_job_looks_again_when_its_pause_or_its_deadline_ends():
    paused = decided(a_job({"startTime": at(0)}, activeDeadlineSeconds=500), FAILED)
    bound = decided(a_job({"startTime": at(0)}, activeDeadlineSeconds=102), FAILED)

    assert (paused.create, paused.look_again) == ((), 5)
    assert bound.look_again == 2


@pytest.mark.parametrize(
    ("text", "indexes"), [("", []), ("1,3-5,7", [1, 3, 4, 5, 7]), ("0-1", [0, 1]), ("x,2", [2]), ("8-12", [8, 9])]
)
def test_indexes_are_read(text, indexes):
    assert sorted(job_indexes.parse(text, 10)) == indexes


@pytest.mark.parametrize(
    ("indexes", "text"), [([], ""), ([1], "1"), ([1, 2], "1,2"), ([3, 1, 2], "1-3"), ([1, 3, 4, 5, 7], "1,3-5,7")]
)
def test_indexes_are_written_as_kubernetes_does(indexes, text):
    assert job_indexes.render(indexes) == text


@pytest.mark.parametrize(
    ("rule", "counts", "message"),
    [
        pytest.param({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}, False, None, id="ignored"),
        pytest.param({"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}}, True, None, id="counted"),
        pytest.param(
            {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [3]}}, True, None, id="no match"
        ),
        pytest.param(
            {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [4], "containerName": "main"}},
            True,
            "Container main for pod default/a failed with exit code 3 matching FailJob rule at index 0",
            id="fails by exit code",
        ),
        pytest.param(
            {"action": "FailJob", "onPodConditions": [{"type": "Ready", "status": "False"}]},
            True,
            "Pod default/a has condition Ready matching FailJob rule at index 0",
            id="fails by condition",
        ),
    ],
)
def test_failure_rules(rule, counts, message):
    job, pod = a_job(podFailurePolicy={"rules": [rule]}), a_pod("a", "Failed", ended=1, code=3)

    assert job_policies.counts(job, pod) is counts
    assert job_policies.failure_message(job, [pod]) == message


@pytest.mark.parametrize(
    ("rule", "is_met"),
    [
        ({"succeededIndexes": "0-1"}, True),
        ({"succeededIndexes": "0-2"}, False),
        ({"succeededIndexes": "0-2", "succeededCount": 2}, True),
        ({"succeededCount": 3}, False),
        ({"succeededCount": 2}, True),
    ],
)
def test_success_rules(rule, is_met):
    message = job_policies.success_message(a_job(**INDEXED, successPolicy={"rules": [rule]}), {0, 1})

    assert message == ("Matched rules at index 0" if is_met else None)


def test_a_note_becomes_a_number_when_the_finalizer_is_gone():
    status = {"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a", "b"], "failed": ["c"]}}

    after = job_status.settled(status, {"b"})

    assert after == {"succeeded": 2, "failed": 1, "uncountedTerminatedPods": {"succeeded": ["b"]}}

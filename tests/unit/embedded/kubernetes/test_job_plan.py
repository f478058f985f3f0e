"""What a Job needs, decided from what is seen: every branch is a row."""

from datetime import timedelta

import pytest

from fleetqueue.embedded.kubernetes.job_plan import decide
from fleetqueue.embedded.kubernetes.job_tally import Failures, tally
from fleetqueue.testing.virtual_time import START

from .job_objects import a_job, a_pod, at


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
    ("waiting", "running", "made"),
    [
        pytest.param(0, 0, 500, id="a batch"),
        pytest.param(500, 0, 500, id="the next one"),
        pytest.param(900, 110, 100, id="those that run do not count"),
        pytest.param(1000, 110, 0, id="enough wait for a node"),
    ],
)
def test_a_huge_job_is_made_as_far_as_nodes_can_take_it(waiting, running, made):
    pods = [a_pod(f"w{number}", node="") for number in range(waiting)] + [a_pod(f"r{n}") for n in range(running)]

    assert len(decided(a_job(parallelism=1_000_000), pods).create) == made


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


def test_a_job_looks_again_when_its_pause_or_its_deadline_ends():
    paused = decided(a_job({"startTime": at(0)}, activeDeadlineSeconds=500), FAILED)
    bound = decided(a_job({"startTime": at(0)}, activeDeadlineSeconds=102), FAILED)

    assert (paused.create, paused.look_again) == ((), 5)
    assert bound.look_again == 2

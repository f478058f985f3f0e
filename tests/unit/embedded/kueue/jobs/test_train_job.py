"""What Kueue reads from a TrainJob with the help of its runtime, and what it writes into it."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.job_kinds import TrainingRuntime
from fleetqueue.embedded.kueue.jobs.integration import StillActive
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo
from fleetqueue.embedded.kueue.jobs.train_job import TrainJobIntegration

LABELS = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
PODS = {"spec": {"containers": [{"name": "node", "image": "i"}]}}
NODES = {"name": "node", "template": {"metadata": {"labels": LABELS}, "spec": {"template": PODS}}}
RUNTIME = {"spec": {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [NODES]}}}}
GIVEN = [PodSetInfo("node", 2, labels={"l": "v"}, node_selector={"zone": "a"}, tolerations=[{"key": "k"}])]


def found(kind, name, namespace):
    return RUNTIME if (kind, name, namespace) == (TrainingRuntime, "r", "ns") else None


JOBS = TrainJobIntegration().looking_up(found)


def train_job(*counts, name="r", **spec):
    reference = {"kind": "TrainingRuntime", "name": name}
    job = {"metadata": {"name": "t", "namespace": "ns"}, "spec": {"runtimeRef": reference, "suspend": True, **spec}}
    return {**JOBS.completed(job), "status": {"jobsStatus": [*counts]}}


def count(**counts):
    return {"name": "node", "active": 0, "ready": 0, "succeeded": 0, **counts}


def test_a_new_job_gets_a_patch_of_kueue_beside_those_of_others():
    job = JOBS.completed({"spec": {"runtimePatches": [{"manager": "me"}]}})

    assert [patch["manager"] for patch in job["spec"]["runtimePatches"]] == ["me", "kueue.x-k8s.io/manager"]


def test_its_pod_sets_are_those_of_the_job_set_that_its_runtime_makes_of_it():
    (nodes,) = JOBS.pod_sets(train_job(trainer={"numNodes": 3}))

    assert (nodes["name"], nodes["count"], nodes["template"]) == ("node", 3, PODS)
    assert nodes["topologyRequest"] == {
        "podIndexLabel": "batch.kubernetes.io/job-completion-index",
        "subGroupIndexLabel": "jobset.sigs.k8s.io/job-index",
        "subGroupCount": 1,
    }


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ({"kind": "TrainingRuntime", "name": "other"}, "runtime 'other' not found"),
        ({"name": "r"}, "runtime 'r' not found"),
        ({"kind": "Odd", "name": "r"}, "unsupported runtime: Odd.trainer.kubeflow.org"),
    ],
)
def test_without_its_runtime_nothing_is_known_of_its_pods(reference, why):
    job = train_job(count(ready=1), runtimeRef=reference)

    with pytest.raises(errors.NotFound, match=why):
        JOBS.pod_sets(job)
    assert not JOBS.pods_ready(job)


def test_a_started_job_says_in_kueues_patch_what_its_pods_are_given():
    started = JOBS.started(train_job(), GIVEN)

    (patch,) = started["spec"]["runtimePatches"]
    pods = {"metadata": {"labels": {"l": "v"}}, "spec": {"nodeSelector": {"zone": "a"}, "tolerations": [{"key": "k"}]}}
    assert patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"] == [
        {"name": "node", "template": {"spec": {"template": pods}}}
    ]
    assert not JOBS.is_suspended(started)
    assert JOBS.pod_sets(started)[0]["template"]["spec"]["nodeSelector"] == {"zone": "a"}


def test_a_job_that_was_given_something_for_other_pods_does_not_start():
    with pytest.raises(CannotStart, match="expecting 1 podset, got 2"):
        JOBS.started(train_job(), [*GIVEN, *GIVEN])


def test_a_job_from_before_kueue_cannot_be_started():
    with pytest.raises(errors.NotFound, match="kueue runtime patch not found"):
        JOBS.started(train_job() | {"spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "r"}}}, GIVEN)


def test_a_job_is_suspended_waits_for_its_last_pod_and_is_restored_then():
    before = train_job(count(active=1))
    running = JOBS.started(before, GIVEN)

    suspended = JOBS.next_stop(running, []).wanted
    with pytest.raises(StillActive):
        JOBS.next_stop(suspended, [])
    empty = {**suspended, "status": {}}
    restored = JOBS.next_stop(empty, []).wanted

    assert suspended == JOBS.suspended(running)
    assert restored["spec"] == before["spec"]
    assert JOBS.next_stop(restored, []) is None


def test_a_job_that_was_only_suspended_needs_no_restoring():
    assert JOBS.next_stop(train_job(count(active=1)), []) is None


@pytest.mark.parametrize(
    ("counts", "is_active", "is_ready", "gone"),
    [
        pytest.param((), False, False, [], id="new"),
        pytest.param((count(active=1),), True, False, [], id="pods start"),
        pytest.param((count(active=1, ready=1),), True, True, [], id="pods run"),
        pytest.param((count(succeeded=1),), False, True, [{"name": "node", "count": 2}], id="pods have ended"),
    ],
)
def test_how_it_goes(counts, is_active, is_ready, gone):
    job = train_job(*counts)

    assert (JOBS.is_active(job), JOBS.pods_ready(job), JOBS.reclaimable(job)) == (is_active, is_ready, gone)

"""What MultiKueue makes of jobs, and of their status."""

import pytest

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue.adapters import BatchJobAdapter, JobSetAdapter
from fleetqueue.embedded.multikueue.copies import clone
from fleetqueue.testing.virtual_time import START

ENDED = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1}
STOPPED = {"conditions": [{"type": "Suspended", "status": "True"}]}


def job(suspend: bool = False, **status: object) -> Manifest:
    return {"metadata": {"name": "j", "namespace": "ns"}, "spec": {"suspend": suspend}, "status": status}


def test_a_job_is_copied_without_what_belongs_to_the_hub():
    labels = {"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u", "mine": "yes"}
    spec = {
        "suspend": False,
        "managedBy": "kueue.x-k8s.io/multikueue",
        "selector": {"matchLabels": {"controller-uid": "u"}},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
    }
    metadata = {"name": "j", "namespace": "ns", "uid": "u", "labels": {"l": "v"}, "finalizers": ["f"]}

    copied = BatchJobAdapter().copy({"metadata": metadata, "spec": spec}, "w", "multikueue")

    assert copied["metadata"] == {
        "name": "j",
        "namespace": "ns",
        "labels": {"l": "v", "kueue.x-k8s.io/multikueue-origin": "multikueue"},
        "annotations": {"kueue.x-k8s.io/prebuilt-workload-name": "w"},
    }
    assert copied["spec"] == {
        "suspend": True,
        "template": {"metadata": {"labels": {"mine": "yes"}}, "spec": {"containers": []}},
    }


def test_a_workload_is_copied_with_its_labels_and_annotations_but_not_what_binds_it_to_the_hub():
    labels = {"mine": "yes", "kueue.x-k8s.io/job-uid": "u"}
    metadata = {"name": "w", "namespace": "ns", "uid": "u", "labels": labels, "annotations": {"a": "b"}}
    bound = {"finalizers": ["f"], "ownerReferences": [{"uid": "u"}]}
    spec = {"queueName": "q", "priority": 7, "podSets": []}

    copied = clone({"metadata": {**metadata, **bound}, "spec": spec, "status": {"conditions": []}}, "multikueue")

    assert copied["metadata"] == {
        "name": "w",
        "namespace": "ns",
        "labels": {"mine": "yes", "kueue.x-k8s.io/multikueue-origin": "multikueue"},
        "annotations": {"a": "b"},
    }
    assert copied["spec"] == spec
    assert "status" not in copied


@pytest.mark.parametrize(
    ("local", "copy", "expected"),
    [
        pytest.param(job(), job(active=1), {"active": 1}, id="both run"),
        pytest.param(job(suspend=True, active=1), job(suspend=True), {}, id="both are stopped"),
        pytest.param(
            job(suspend=True),
            job(suspend=True, active=1, startTime="T"),
            {"active": 1},
            id="both are stopped, and the copy's own controller has not seen it yet",
        ),
        pytest.param(job(suspend=True), job(**ENDED), ENDED, id="the copy has ended"),
        pytest.param(
            job(suspend=True, **STOPPED), job(active=1, startTime="T"), STOPPED, id="the hub's must start first"
        ),
        pytest.param(
            job(startTime="1"), job(startTime="2", active=1), {"startTime": "1", "active": 1}, id="started anew"
        ),
    ],
)
def test_which_status_a_job_gets(local, copy, expected):
    assert BatchJobAdapter().status(local, copy, START) == expected


def test_a_stopped_job_says_so_before_its_copy_runs():
    status = BatchJobAdapter().status(job(suspend=True), job(active=1), START)

    assert [(each["type"], each["reason"]) for each in status["conditions"]] == [("Suspended", "MultiKueueAdapter")]
    assert "active" not in status


@pytest.mark.parametrize(
    ("local", "counts"),
    [
        pytest.param(job(suspend=True, active=2, startTime="T"), 0, id="counted pods that are gone"),
        pytest.param(job(active=2), 2, id="not stopped yet"),
        pytest.param(job(suspend=True), None, id="never started"),
    ],
)
def test_the_last_status(local, counts):
    assert BatchJobAdapter().last_status(local, START).get("active") == counts


def test_job_sets():
    spec = {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue", "replicatedJobs": []}
    local = {"metadata": {"name": "s", "namespace": "ns"}, "spec": spec}
    running = {**local, "status": {"replicatedJobsStatus": [{"name": "r", "active": 1, "ready": 1}]}}

    assert JobSetAdapter().copy(local, "w", "o")["spec"] == {"suspend": True, "replicatedJobs": []}
    assert JobSetAdapter().status(local, running, START) == running["status"]
    assert JobSetAdapter().last_status(running, START) == {
        "replicatedJobsStatus": [{"name": "r", "active": 0, "ready": 0}]
    }


@pytest.mark.parametrize(
    ("local", "copy", "expected"),
    [
        pytest.param(job(), job(restarts=0), {}, id="there were none"),
        pytest.param(job(), job(restarts=2), {"restarts": 2}, id="the first ones"),
        pytest.param(job(restarts=2), job(restarts=0), {"restarts": 0}, id="on another worker they begin anew"),
        pytest.param(job(restarts=2), job(), {}, id="another worker has not counted yet"),
    ],
)
def test_which_restarts_a_job_set_gets(local, copy, expected):
    assert JobSetAdapter().status(local, copy, START) == expected

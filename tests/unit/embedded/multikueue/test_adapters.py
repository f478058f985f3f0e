"""What MultiKueue makes of jobs, and of their status."""

import pytest

from fleetqueue.api.job_kinds import RayCluster
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue.adapters import ADAPTERS, BatchJobAdapter, JobSetAdapter
from fleetqueue.embedded.multikueue.bound_copies import workloads_of
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
        pytest.param(
            job(failed=2, succeeded=1),
            job(active=1, failed=1),
            {"active": 1, "failed": 2, "succeeded": 1},
            id="sent anew, and counted from nothing",
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


def of_kind(framework):
    (adapter,) = [adapter for adapter in ADAPTERS if adapter.framework == framework]
    return adapter


@pytest.mark.parametrize(
    ("local", "copy", "expected"),
    [
        pytest.param({"jobStatus": "RUNNING"}, {"jobStatus": "FAILED"}, {"jobStatus": "FAILED"}, id="that of the copy"),
        pytest.param({}, {}, {}, id="none, where neither has one"),
        pytest.param(
            {"jobStatus": "RUNNING", "rayClusterStatus": {"state": "ready"}},
            {},
            {"failed": 0, "succeeded": 0, "rayClusterStatus": {}},
            id="what is left of it, where a new copy has none",
        ),
        pytest.param({"jobStatus": "RUNNING"}, {}, {"failed": 0, "succeeded": 0}, id="no cluster, where it had none"),
    ],
)
def test_which_status_a_ray_job_gets(local, copy, expected):
    found = of_kind("ray.io/rayjob").status({"status": local}, {"status": copy}, START)

    assert found == expected


def test_a_job_of_a_run_policy_is_copied_suspended_and_for_its_own_controller():
    spec = {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue", "suspend": False}, "pytorchReplicaSpecs": {}}
    local = {"metadata": {"name": "p", "namespace": "ns"}, "spec": spec}

    copied = of_kind("kubeflow.org/pytorchjob").copy(local, "w", "o")

    assert copied["spec"] == {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {}}
    assert spec["runPolicy"]["suspend"] is False


@pytest.mark.parametrize(
    ("managers", "kept"),
    [
        pytest.param(("me", "kueue.x-k8s.io/manager"), ["me"], id="one of somebody else"),
        pytest.param(("kueue.x-k8s.io/manager",), None, id="Kueue's alone"),
        pytest.param((), None, id="none"),
    ],
)
def test_a_train_job_is_copied_without_the_patch_of_the_hubs_kueue(managers, kept):
    patches = {"runtimePatches": [{"manager": manager} for manager in managers]} if managers else {}
    local = {"metadata": {"name": "t", "namespace": "ns"}, "spec": {"runtimeRef": {"name": "r"}, **patches}}

    copied = of_kind("trainer.kubeflow.org/trainjob").copy(local, "w", "o")["spec"]

    assert copied == {
        "runtimeRef": {"name": "r"},
        "suspend": True,
        **({"runtimePatches": [{"manager": manager} for manager in kept]} if kept else {}),
    }


@pytest.mark.parametrize(
    ("framework", "spec", "why"),
    [
        pytest.param("ray.io/rayjob", {"managedBy": "kueue.x-k8s.io/multikueue"}, "", id="it is"),
        pytest.param(
            "ray.io/rayjob",
            {},
            'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not ""',
            id="it does not say",
        ),
        pytest.param(
            "kubeflow.org/mpijob",
            {"runPolicy": {"managedBy": "x/y"}},
            'Expecting spec.runPolicy.managedBy to be "kueue.x-k8s.io/multikueue" not "x/y"',
            id="it is somebody else's",
        ),
        pytest.param(
            "kubeflow.org/pytorchjob",
            {"runPolicy": {"managedBy": "x/y"}},
            'Expecting spec.managedBy to be "kueue.x-k8s.io/multikueue" not "x/y"',
            id="Kueue itself calls the field otherwise",
        ),
    ],
)
def test_why_a_job_is_not_multikueues(framework, spec, why):
    told = of_kind(framework).why_not_managed({"spec": spec})

    assert told == (f"The owner is not managed by Kueue: {why}" if why else "")


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        pytest.param({}, {}, {}, id="nothing is served"),
        pytest.param({"serveConfigV2": "a"}, {"serveConfigV2": "a"}, {"serveConfigV2": "a"}, id="the same"),
        pytest.param({"serveConfigV2": "b"}, {"serveConfigV2": "a"}, {"serveConfigV2": "b"}, id="something else"),
        pytest.param({}, {"serveConfigV2": "a"}, {"serveConfigV2": ""}, id="nothing any more"),
        pytest.param({"upgradeStrategy": {}}, {}, {}, id="what does not follow"),
    ],
)
def test_what_a_copy_of_a_ray_service_takes_over(here, there, expected):
    copy = of_kind("ray.io/rayservice").followed({"spec": here}, {"spec": there}, "w")

    assert copy == {"spec": expected}


@pytest.mark.parametrize(
    ("framework", "spec", "before", "after"),
    [
        pytest.param(
            "kubeflow.org/tfjob",
            {"runPolicy": {"suspend": True}},
            {"replicaStatuses": {"Worker": {"active": 2, "failed": 1}}},
            {"replicaStatuses": {"Worker": {"active": 0, "failed": 1}}},
            id="TFJob",
        ),
        pytest.param(
            "ray.io/rayjob",
            {"suspend": True},
            {"jobDeploymentStatus": "Running"},
            {"jobDeploymentStatus": "Suspended"},
            id="RayJob",
        ),
        pytest.param(
            "ray.io/raycluster", {"suspend": True}, {"state": "ready"}, {"state": "suspended"}, id="RayCluster"
        ),
        pytest.param(
            "trainer.kubeflow.org/trainjob",
            {"suspend": True},
            {"jobsStatus": [{"name": "node", "active": 1, "ready": 1, "failed": 1}]},
            {"jobsStatus": [{"name": "node", "active": 0, "ready": 0, "failed": 1}]},
            id="TrainJob",
        ),
        pytest.param(
            "workload.codeflare.dev/appwrapper",
            {"suspend": True},
            {"phase": "Running", "conditions": [{"type": "QuotaReserved", "status": "True"}]},
            {"phase": "Suspended", "conditions": [{"type": "QuotaReserved", "status": "False"}]},
            id="AppWrapper",
        ),
        pytest.param(
            "ray.io/rayservice",
            {"rayClusterConfig": {"suspend": True}},
            {"conditions": [{"type": "Ready", "status": "True"}]},
            {"conditions": [{"type": "Ready", "status": "False"}]},
            id="RayService",
        ),
        pytest.param(
            "ray.io/rayjob",
            {},
            {"jobDeploymentStatus": "Running"},
            {"jobDeploymentStatus": "Running"},
            id="not stopped",
        ),
        pytest.param("ray.io/rayjob", {"suspend": True}, {}, {}, id="never started"),
    ],
)
def test_a_stopped_job_without_a_copy_does_not_say_that_it_runs(framework, spec, before, after):
    assert of_kind(framework).last_status({"spec": spec, "status": before}, START) == after


def test_what_was_made_for_a_copy_is_no_copy():
    notes = {"kueue.x-k8s.io/prebuilt-workload-name": "w"}
    owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "j", "uid": "u", "controller": True}
    copied = {"metadata": {"name": "j", "annotations": notes}}
    made = {"metadata": {"name": "j-abcde", "annotations": notes, "ownerReferences": [owner]}}

    assert (workloads_of(RayCluster.view(copied)), workloads_of(RayCluster.view(made))) == (["w"], [])

"""The life of a RayJob, one step at a time."""

from datetime import timedelta

import pytest

from fleetqueue.embedded.operators.ray_job_objects import cluster_of, submitter_of
from fleetqueue.embedded.operators.ray_job_plan import plan

from .objects import NOON, as_there, names, ray_job, seen

STARTED = {"startTime": "2026-01-01T11:59:00Z", "rayClusterName": "c", "jobId": "id"}
READY = {"state": "ready", "desiredWorkerReplicas": 1}


def state(name, **more):
    return {"jobDeploymentStatus": name, **STARTED, **more}


def cluster(**status):
    return {**as_there(cluster_of(ray_job(), "c")), "status": status}


def submitter(*, over="", **status):
    conditions = [{"type": over, "status": "True", "reason": "r", "message": "m"}] if over else []
    return {**as_there(submitter_of(ray_job(), "id", "a")), "status": {"conditions": conditions, **status}}


def test_a_new_job_chooses_its_names_before_anything_is_made():
    result = plan(seen(ray_job()))

    assert result.create == []
    assert result.status == {
        "jobDeploymentStatus": "Initializing",
        "jobId": "j-drawn1",
        "rayClusterName": "j-drawn2",
        "startTime": "2026-01-01T12:00:00Z",
        "failed": 0,
        "succeeded": 0,
    }


def test_it_makes_its_cluster_and_tells_how_that_is():
    first = plan(seen(ray_job(state("Initializing"))))
    second = plan(seen(ray_job(state("Initializing")), cluster(state="")))

    assert names(first.create, "RayCluster") == ["c"]
    assert first.create[0]["metadata"]["labels"] == {
        "ray.io/originated-from-cr-name": "j",
        "ray.io/originated-from-crd": "RayJob",
        "ray.io/job-submission-mode": "K8sJobMode",
    }
    assert second.create == []
    assert second.status["rayClusterStatus"] == {"state": ""}


def test_when_its_cluster_is_ready_it_is_submitted():
    result = plan(seen(ray_job(state("Initializing"), entrypoint="sleep 30"), cluster(**READY)))

    (job,) = result.create
    assert (job["metadata"]["name"], job["spec"]["backoffLimit"]) == ("j", 2)
    assert job["spec"]["template"]["spec"]["containers"][0]["args"][0].endswith("-- sleep 30")
    assert result.status["dashboardURL"] == "c-head-svc.team-a.svc.cluster.local:8265"
    assert result.status["jobDeploymentStatus"] == "Running"


def test_who_submits_may_be_given():
    own = {"metadata": {"annotations": {"a": "b"}}, "spec": {"containers": [{"name": "s", "command": ["x"]}]}}

    job = submitter_of(ray_job(submitterPodTemplate=own, submitterConfig={"backoffLimit": 0}), "id", "a")

    assert (job["spec"]["template"], job["spec"]["backoffLimit"]) == (own, 0)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(submitter(active=1), ("Running", "", "", ""), id="it is not known in Ray yet"),
        pytest.param(submitter(ready=1), ("Running", "RUNNING", "", "Job is currently running."), id="it runs"),
        pytest.param(
            submitter(failed=1),
            ("Running", "FAILED", "", "Job entrypoint command failed with exit code 1"),
            id="it failed and is submitted again",
        ),
        pytest.param(
            submitter(over="Complete"), ("Complete", "SUCCEEDED", "", "Job finished successfully."), id="it succeeded"
        ),
        pytest.param(
            submitter(over="Failed", failed=3),
            ("Failed", "FAILED", "AppFailed", "Job entrypoint command failed with exit code 1"),
            id="it failed",
        ),
    ],
)
def test_how_a_job_is_follows_from_who_submits_it(job, expected):
    status = plan(seen(ray_job(state("Running")), cluster(**READY), job)).status

    said = tuple(status.get(name, "") for name in ("jobDeploymentStatus", "jobStatus", "reason", "message"))
    assert said == expected
    assert status.get("rayClusterStatus", {}) == (READY if expected[1] else {})
    assert ("endTime" in status) == (expected[0] != "Running")


def test_it_counts_how_it_ended():
    good = plan(seen(ray_job(state("Running")), cluster(**READY), submitter(over="Complete"))).status
    bad = plan(seen(ray_job(state("Running")), cluster(**READY), submitter(over="Failed"))).status

    assert [(one["succeeded"], one["failed"]) for one in (good, bad)] == [(1, 0), (0, 1)]


def test_a_job_that_failed_is_tried_again_as_often_as_it_says():
    children = cluster(**READY), submitter(over="Failed", failed=3)

    first = plan(seen(ray_job(state("Running"), backoffLimit=1), *children))
    last = plan(seen(ray_job(state("Running", failed=1), backoffLimit=1), *children))
    cleared = plan(seen(ray_job({**first.status}, backoffLimit=1)))

    assert first.status["jobDeploymentStatus"] == "Retrying"
    assert last.status["jobDeploymentStatus"] == "Failed"
    assert cleared.status == {"startTime": STARTED["startTime"], "failed": 1, "succeeded": 0}


@pytest.mark.parametrize("before", ["Initializing", "Running"])
def test_a_suspension_takes_everything_away_before_it_is_said(before):
    children = cluster(**READY), submitter(ready=1)

    begun = plan(seen(ray_job(state(before), suspend=True), *children))
    going = plan(seen(ray_job(begun.status, suspend=True), *children))
    gone = plan(seen(ray_job(going.status, suspend=True)))

    assert (begun.delete, begun.status["jobDeploymentStatus"]) == ([], "Suspending")
    assert (names(going.delete, "RayCluster"), names(going.delete, "Job")) == (["c"], ["j"])
    assert going.status["jobDeploymentStatus"] == "Suspending"
    assert gone.status["jobDeploymentStatus"] == "Suspended"
    assert "rayClusterName" not in gone.status


def test_a_suspended_job_waits_and_a_resumed_one_begins_anew():
    waits = plan(seen(ray_job({"jobDeploymentStatus": "Suspended"}, suspend=True)))
    resumed = plan(seen(ray_job({"jobDeploymentStatus": "Suspended"}, suspend=False)))

    assert waits.status == {"jobDeploymentStatus": "Suspended"}
    assert "jobDeploymentStatus" not in resumed.status


@pytest.mark.parametrize(
    ("field", "now", "reason"),
    [
        ("activeDeadlineSeconds", "Running", "DeadlineExceeded"),
        ("preRunningDeadlineSeconds", "Initializing", "PreRunningDeadlineExceeded"),
    ],
)
def test_deadlines(field, now, reason):
    job = ray_job(state(now), **{field: 90})
    children = cluster(), submitter(ready=1)

    before = plan(seen(job, *children))
    after = plan(seen(job, *children, now=NOON + timedelta(seconds=30)))

    assert before.again_in == 30
    assert (after.status["jobDeploymentStatus"], after.status["reason"]) == ("Failed", reason)
    assert after.status["message"] == (
        f"The RayJob has passed the {field}. StartTime: 2026-01-01 11:59:00 +0000 UTC. "
        f"{field[0].upper()}{field[1:]}: 90"
    )


def test_a_job_that_ended_long_ago_is_over_though_somebody_still_submits_it():
    ended = {"startTime": "2026-01-01T11:00:00Z", "endTime": "2026-01-01T11:55:00Z"}
    job = ray_job(state("Running", jobStatus="FAILED", rayJobInfo=ended))

    status = plan(seen(job, cluster(**READY), submitter(ready=1, failed=1))).status

    assert status["jobDeploymentStatus"] == "Failed"
    assert status["reason"] == "JobDeploymentStatusTransitionGracePeriodExceeded"


@pytest.mark.parametrize("mode", ["HTTPMode", "SidecarMode"])
def test_a_job_that_nobody_submits_in_the_cluster_runs_for_as_long_as_it_says(mode):
    spec = {"submissionMode": mode, "entrypoint": "sleep 60"}

    begun = plan(seen(ray_job(state("Running"), **spec), cluster(**READY)))
    ended = plan(seen(ray_job(begun.status, **spec), cluster(**READY), now=NOON + timedelta(seconds=60)))
    notes = {"annotations": {"fleetqueue.dev/fails": "true"}}
    failed = plan(seen(ray_job(begun.status, notes, **spec), cluster(**READY), now=NOON + timedelta(seconds=60)))

    assert (begun.status["jobStatus"], begun.again_in) == ("RUNNING", 60)
    assert (ended.status["jobDeploymentStatus"], ended.status["jobStatus"]) == ("Complete", "SUCCEEDED")
    assert (failed.status["jobDeploymentStatus"], failed.status["reason"]) == ("Failed", "AppFailed")


def test_a_sidecar_submits_from_the_head():
    head = cluster_of(ray_job(submissionMode="SidecarMode"), "c")["spec"]["headGroupSpec"]["template"]["spec"]

    assert [container["name"] for container in head["containers"]] == ["main", "ray-job-submitter"]
    assert head["restartPolicy"] == "Never"


def test_a_person_may_submit_and_say_what():
    spec = {"submissionMode": "InteractiveMode"}

    ready = plan(seen(ray_job(state("Initializing"), **spec), cluster(**READY)))
    waits = plan(seen(ray_job(ready.status, **spec), cluster(**READY)))
    known = plan(seen(ray_job(ready.status, **spec, jobId="mine"), cluster(**READY)))

    assert (ready.status["jobDeploymentStatus"], waits.status) == ("Waiting", ready.status)
    assert (known.status["jobDeploymentStatus"], known.status["jobId"]) == ("Running", "mine")


@pytest.mark.parametrize(
    ("spec", "deleted", "again"),
    [
        pytest.param({}, ["c"], None, id="at once"),
        pytest.param({"ttlSecondsAfterFinished": 90}, [], 30, id="later"),
        pytest.param({"shutdownAfterJobFinishes": False}, [], None, id="never"),
    ],
)
def test_when_the_cluster_of_a_job_that_is_over_goes(spec, deleted, again):
    over = state("Complete", jobStatus="SUCCEEDED", endTime="2026-01-01T11:59:00Z")

    result = plan(seen(ray_job(over, **spec), cluster(**READY), submitter(over="Complete")))

    assert names(result.delete, "RayCluster") == deleted
    assert names(result.delete, "Job") == []
    assert result.again_in == again
    assert result.status == over


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"suspend": True, "shutdownAfterJobFinishes": False},
            "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
            id="a cluster that stays",
        ),
        pytest.param(
            {"rayClusterSpec": None}, "one of RayClusterSpec or ClusterSelector must be set", id="no cluster at all"
        ),
    ],
)
def test_a_job_that_cannot_be_says_why(spec, why):
    status = plan(seen(ray_job(**spec))).status

    assert (status["jobDeploymentStatus"], status["reason"]) == ("ValidationFailed", "ValidationFailed")
    assert status["message"] == f"The RayJob spec is invalid: {why}"


def test_a_job_for_a_cluster_that_is_there_already_is_left_alone():
    result = plan(seen(ray_job(clusterSelector={"ray.io/cluster": "c"}, rayClusterSpec=None)))

    assert (result.create, result.status) == ([], {})


def test_what_was_decided_is_not_decided_again():
    children = cluster(**READY), submitter(ready=1)
    first = plan(seen(ray_job(state("Running")), *children))

    second = plan(seen(ray_job(first.status), *children))

    assert (second.create, second.delete, second.says) == ([], [], [])
    assert second.status == first.status

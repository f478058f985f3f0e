"""What an MPIJob needs next, and what it says of itself."""

import pytest

from fleetqueue.api.job_kinds import MPI_JOB
from fleetqueue.embedded.operators.mpi_plan import plan

from .objects import as_there, kubeflow, message, names, replica, seen, told

LAUNCHER = {
    "metadata": {
        "name": "j-launcher-abcde",
        "labels": {"training.kubeflow.org/job-role": "launcher"},
        "creationTimestamp": "2026-01-01T11:00:00Z",
    },
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {"containers": [{"name": "main"}]},
}


def mpi_job(status=None, policy=None, workers=2, **spec):
    made = kubeflow(MPI_JOB, status, policy, Launcher=replica(), Worker=replica(workers))
    made["spec"] |= spec
    return made


def children_of(job, worker="Running", **launcher):
    """What a job was given: a launcher with a status, and its workers in a phase."""
    made = [as_there(child, worker) for child in plan(seen(job)).create]
    return [{**child, "status": launcher} if child["kind"] == "Job" else child for child in made]


def ended(kind, reason="", text=""):
    return {"conditions": [{"type": kind, "status": "True", "reason": reason, "message": text}]}


def test_a_new_job_makes_its_launcher_its_workers_and_a_service():
    result = plan(seen(mpi_job()))

    assert names(result.create) == ["j-worker-0", "j-worker-1"]
    assert names(result.create, "Job") == ["j-launcher"]
    assert names(result.create, "Service") == ["j"]
    assert told(result.status) == {"Created": "True MPIJobCreated"}
    assert result.status["startTime"] == "2026-01-01T12:00:00Z"


def test_the_launcher_is_limited_as_its_job_is():
    limits = {"backoffLimit": 3, "activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 9}

    (launcher,) = [made for made in plan(seen(mpi_job(policy=limits))).create if made["kind"] == "Job"]

    assert {name: launcher["spec"][name] for name in limits} == limits
    assert launcher["spec"]["podReplacementPolicy"] == "Failed"
    assert launcher["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert launcher["metadata"]["labels"] == {"app": "j"}


def test_workers_are_labelled_as_the_operator_labels_them():
    worker = next(made for made in plan(seen(mpi_job())).create if made["kind"] == "Pod")

    assert worker["metadata"]["labels"] == {
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/job-role": "worker",
        "training.kubeflow.org/replica-index": "0",
    }
    assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("j-worker-0", "j")
    assert worker["spec"]["restartPolicy"] == "Never"


def test_a_launcher_that_works_too_is_counted_first():
    made = plan(seen(mpi_job(runLauncherAsWorker=True))).create
    index = "training.kubeflow.org/replica-index"

    (launcher,) = [one["spec"]["template"] for one in made if one["kind"] == "Job"]
    assert launcher["metadata"]["labels"][index] == "0"
    assert [one["metadata"]["labels"][index] for one in made if one["kind"] == "Pod"] == ["1", "2"]


def test_a_launcher_may_wait_for_its_workers():
    job = mpi_job(launcherCreationPolicy="WaitForWorkersReady")
    first = plan(seen(job))

    ready = plan(seen(job, *(as_there(made) for made in first.create)))

    assert names(first.create, "Job") == []
    assert names(ready.create, "Job") == ["j-launcher"]


@pytest.mark.parametrize(
    ("launcher", "worker", "said"),
    [
        pytest.param("Pending", "Running", {}, id="the launcher starts"),
        pytest.param("Running", "Pending", {}, id="workers start"),
        pytest.param("Running", "Running", {"Running": "MPIJob team-a/j is running."}, id="all run"),
    ],
)
def test_a_job_runs_when_all_run(launcher, worker, said):
    job = mpi_job()

    result = plan(seen(job, *children_of(job, worker), as_there(LAUNCHER, launcher)))

    told = {one["type"]: one["message"] for one in result.status["conditions"] if one["type"] != "Created"}
    assert told == said


def test_it_counts_the_launcher_and_its_workers():
    job = mpi_job()

    result = plan(seen(job, *children_of(job, failed=1), as_there(LAUNCHER)))

    assert result.status["replicaStatuses"] == {"Launcher": {"active": 1, "failed": 1}, "Worker": {"active": 2}}


def test_the_launchers_success_is_the_jobs():
    job = mpi_job()
    over = {**ended("Complete"), "completionTime": "2026-01-01T11:30:00Z"}

    result = plan(seen(job, *children_of(job, **over)))

    assert message(result.status, "Succeeded") == "MPIJob team-a/j successfully completed."
    assert result.status["completionTime"] == "2026-01-01T11:30:00Z"
    assert result.status["replicaStatuses"] == {"Launcher": {"succeeded": 1}, "Worker": {}}
    assert told(result.status)["Running"] == "False MPIJobRunning"


def test_the_launchers_failure_is_the_jobs_with_what_its_last_pod_says():
    job = mpi_job()
    over = {**ended("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"), "failed": 1}
    pod = as_there(LAUNCHER, "Failed")
    pod["status"] |= {"reason": "Evicted", "message": "no room"}

    result = plan(seen(job, *children_of(job, **over), pod))

    assert told(result.status)["Failed"] == "True BackoffLimitExceeded/Evicted"
    assert message(result.status, "Failed") == "Job has reached the specified backoff limit: no room"
    assert result.status["completionTime"] == "2026-01-01T12:00:00Z"


def test_a_suspended_job_has_a_suspended_launcher_and_no_workers():
    job = mpi_job(policy={"suspend": True})

    new = plan(seen(job))
    stopped = plan(seen(job, *children_of(mpi_job()), as_there(LAUNCHER)))

    (launcher,) = [made for made in new.create if made["kind"] == "Job"]
    assert launcher["spec"]["suspend"] is True
    assert names(new.create) == []
    assert told(new.status) == {
        "Created": "True MPIJobCreated",
        "Suspended": "True MPIJobSuspended",
        "Running": "False MPIJobSuspended",
    }
    assert "startTime" not in new.status
    assert names(stopped.delete) == ["j-worker-0", "j-worker-1"]
    assert [patch.fields for _, patches in stopped.change for patch in patches] == [{"spec": {"suspend": True}}]
    assert stopped.status["replicaStatuses"]["Worker"] == {}


def test_a_resumed_job_resumes_its_launcher_with_what_its_pods_are_given_now():
    suspended = mpi_job(policy={"suspend": True})
    first = plan(seen(suspended))
    (launcher,) = [as_there(made) for made in first.create if made["kind"] == "Job"]
    launcher["status"] = {"startTime": "2026-01-01T10:00:00Z"}
    job = mpi_job(first.status)
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["nodeSelector"] = {"zone": "a"}

    result = plan(seen(job, launcher))

    ((_, patches),) = result.change
    assert patches[0] == ({"status": {"startTime": None}}, "status")
    assert patches[1].fields["spec"]["suspend"] is False
    assert patches[1].fields["spec"]["template"]["spec"] == {"nodeSelector": {"zone": "a"}}
    assert told(result.status)["Suspended"] == "False MPIJobResumed"
    assert result.status["startTime"] == "2026-01-01T12:00:00Z"
    assert names(result.create) == ["j-worker-0", "j-worker-1"]


@pytest.mark.parametrize(
    ("choice", "deleted"),
    [
        pytest.param({}, [], id="none by default"),
        pytest.param({"cleanPodPolicy": "Running"}, ["j-worker-1"], id="those that run"),
        pytest.param({"cleanPodPolicy": "All"}, ["j-worker-0", "j-worker-1"], id="all"),
    ],
)
def test_which_workers_of_a_job_that_has_ended_are_deleted(choice, deleted):
    status = {
        **ended("Succeeded"),
        "completionTime": "2026-01-01T11:00:00Z",
        "replicaStatuses": {"Worker": {"active": 1}},
    }
    pods = [made for made in plan(seen(mpi_job())).create if made["kind"] == "Pod"]
    there = [as_there(pod, phase) for pod, phase in zip(pods, ("Failed", "Running"), strict=True)]

    result = plan(seen(mpi_job(status, choice), *there))

    assert names(result.delete) == deleted
    assert result.create == []
    assert result.status["replicaStatuses"] == {"Worker": {} if deleted else {"active": 1}}


def test_workers_that_are_too_many_go():
    children = children_of(mpi_job())

    result = plan(seen(mpi_job(workers=1), *children))

    assert names(result.delete) == ["j-worker-1"]


def test_what_was_decided_is_not_decided_again():
    job = mpi_job()
    children = [*children_of(job), as_there(LAUNCHER)]
    first = plan(seen(job, *children))

    second = plan(seen(mpi_job(first.status), *children))

    assert (second.create, second.delete, second.change, second.says) == ([], [], [], [])
    assert second.status == first.status

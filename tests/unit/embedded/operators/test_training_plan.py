"""What a training job needs next, and what it says of itself."""

from datetime import timedelta

import pytest

from fleetqueue.api import job_kinds as kinds
from fleetqueue.embedded.operators.training_kinds import JAX, PADDLE, PYTORCH, TENSORFLOW, XGBOOST
from fleetqueue.embedded.operators.training_plan import plan

from .objects import NOON, as_there, kubeflow, message, names, replica, seen, told


def job_of(kind, status=None, policy=None, **roles):
    return kubeflow(kind.job_kind, status, policy, **roles)


def children_of(kind, job):
    """What a new job is given."""
    return {made["metadata"]["name"]: made for made in plan(kind, seen(job)).create if made["kind"] == "Pod"}


def with_pods(kind, job, **phases):
    """Look at a job some of whose pods are there, as `worker_0="Failed"`, or with more of what is known of them."""
    made = children_of(kind, job)
    pods = []
    for name, how in phases.items():
        how = {"phase": how} if isinstance(how, str) else how
        pods.append(as_there(made[f"j-{name.replace('_', '-')}"], **how))
    return plan(kind, seen(job, *pods))


def status_of(*conditions, **more):
    said = [
        {"type": kind, "status": value, "reason": kind, "message": "", "lastTransitionTime": "2026-01-01T11:00:00Z"}
        for kind, value in (condition.split("=") for condition in conditions)
    ]
    return {"conditions": said, "replicaStatuses": {}, **more}


def test_a_new_job_makes_its_pods_and_a_service_for_each():
    result = plan(PYTORCH, seen(job_of(PYTORCH, Master=replica(), Worker=replica(2))))

    assert names(result.create) == ["j-master-0", "j-worker-0", "j-worker-1"]
    assert names(result.create, "Service") == ["j-master-0", "j-worker-0", "j-worker-1"]
    assert told(result.status) == {"Created": "True PyTorchJobCreated"}
    assert message(result.status, "Created") == "PyTorchJob j is created."
    assert result.status["startTime"] == "2026-01-01T12:00:00Z"
    assert result.status["replicaStatuses"]["Worker"] == {
        "selector": "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=pytorchjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    }


def test_pods_are_labelled_as_the_operator_labels_them():
    made = children_of(PYTORCH, job_of(PYTORCH, Master=replica(), Worker=replica()))

    assert made["j-master-0"]["metadata"]["labels"] == {
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/replica-type": "master",
        "training.kubeflow.org/replica-index": "0",
        "training.kubeflow.org/job-role": "master",
    }
    assert "training.kubeflow.org/job-role" not in made["j-worker-0"]["metadata"]["labels"]
    assert made["j-master-0"]["metadata"]["ownerReferences"][0]["kind"] == "PyTorchJob"


@pytest.mark.parametrize(
    ("kind", "roles", "leader"),
    [
        pytest.param(PYTORCH, ["Master", "Worker"], ["j-master-0"], id="a master"),
        pytest.param(PYTORCH, ["Worker"], ["j-worker-0"], id="the first worker"),
        pytest.param(TENSORFLOW, ["Chief", "PS", "Worker"], ["j-chief-0"], id="a chief"),
        pytest.param(JAX, ["Worker"], ["j-worker-0"], id="the first of JAX"),
        pytest.param(PADDLE, ["Worker"], [], id="nobody of Paddle"),
        pytest.param(XGBOOST, ["Master", "Worker"], ["j-master-0"], id="the master of XGBoost"),
    ],
)
def test_who_is_called_the_master(kind, roles, leader):
    made = children_of(kind, job_of(kind, **{role: replica(2 if role == "Worker" else 1) for role in roles}))

    assert [name for name, pod in made.items() if pod["metadata"]["labels"].get("training.kubeflow.org/job-role")] == (
        leader
    )


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({}, "OnFailure", id="that of the kind"),
        pytest.param({"restartPolicy": "Never"}, "Never", id="that of the role"),
        pytest.param({"restartPolicy": "ExitCode"}, "Never", id="by exit code"),
    ],
)
def test_the_restart_policy_of_pods(policy, expected):
    (pod,) = children_of(PYTORCH, job_of(PYTORCH, Master=replica(**policy))).values()

    assert pod["spec"]["restartPolicy"] == expected


def test_who_trains_is_given_the_port_of_its_kind():
    (pod,) = children_of(JAX, job_of(JAX, Worker=replica())).values()
    (service,) = [made for made in plan(JAX, seen(job_of(JAX, Worker=replica()))).create if made["kind"] == "Service"]

    assert pod["spec"]["containers"][0]["ports"] == [{"name": "jaxjob-port", "containerPort": 6666}]
    assert service["spec"]["ports"] == [{"name": "jaxjob-port", "port": 6666}]
    assert (service["spec"]["clusterIP"], service["spec"]["selector"]) == ("None", service["metadata"]["labels"])


WORKERS = {"Worker": replica(2, restartPolicy="Never")}


@pytest.mark.parametrize(
    ("kind", "more", "phases", "said"),
    [
        pytest.param(PYTORCH, {"Master": replica()}, {"worker_0": "Running"}, {}, id="a master is awaited"),
        pytest.param(
            PYTORCH,
            {"Master": replica()},
            {"master_0": "Running"},
            {"Running": "PyTorchJob j is running."},
            id="a master runs",
        ),
        pytest.param(
            PYTORCH,
            {"Master": replica()},
            {"master_0": "Succeeded", "worker_0": "Running"},
            {"Succeeded": "PyTorchJob j is successfully completed."},
            id="a master has ended",
        ),
        pytest.param(
            PYTORCH,
            {},
            {"worker_0": "Succeeded", "worker_1": "Running"},
            {"Running": "PyTorchJob team-a/j is running."},
            id="one of two workers has ended",
        ),
        pytest.param(
            PYTORCH,
            {},
            {"worker_0": "Succeeded", "worker_1": "Succeeded"},
            {"Succeeded": "PyTorchJob team-a/j successfully completed."},
            id="all workers have ended",
        ),
        pytest.param(
            TENSORFLOW,
            {},
            {"worker_0": "Succeeded", "worker_1": "Running"},
            {"Succeeded": "TFJob team-a/j successfully completed."},
            id="worker 0 of a TFJob has ended",
        ),
        pytest.param(
            TENSORFLOW,
            {},
            {"worker_1": "Succeeded", "worker_0": "Running"},
            {"Running": "TFJob team-a/j is running."},
            id="worker 1 of a TFJob has ended",
        ),
        pytest.param(
            TENSORFLOW,
            {"Chief": replica(), "PS": replica()},
            {"chief_0": "Succeeded", "ps_0": "Running", "worker_0": "Running"},
            {"Succeeded": "TFJob team-a/j successfully completed."},
            id="a chief has ended",
        ),
        pytest.param(
            PADDLE,
            {"Master": replica(restartPolicy="Never")},
            {"master_0": "Failed"},
            {"Failed": "PaddleJob j is failed because 1 Master replica(s) failed."},
            id="a master of Paddle failed",
        ),
        pytest.param(
            JAX,
            {},
            {"worker_0": "Running", "worker_1": "Failed"},
            {"Failed": "JAXJob j is failed because 1 Worker replica(s) failed."},
            id="a worker of JAX failed",
        ),
        pytest.param(
            TENSORFLOW,
            {},
            {"worker_0": "Running", "worker_1": "Failed"},
            {"Failed": "TFJob team-a/j has failed because 1 Worker replica(s) failed."},
            id="a worker of a TFJob failed",
        ),
        pytest.param(
            XGBOOST,
            {"Master": replica()},
            {"master_0": "Running", "worker_0": {"phase": "Running", "deleting": True}},
            {"Failed": "XGBoostJob j is failed because 1 Worker replica(s) failed."},
            id="a worker of XGBoost is lost",
        ),
    ],
)
def test_what_pods_mean_for_a_job(kind, more, phases, said):
    result = with_pods(kind, job_of(kind, **more, **WORKERS), **phases)

    conditions = {one["type"]: one["message"] for one in result.status["conditions"] if one["status"] == "True"}
    assert {name: text for name, text in conditions.items() if name != "Created"} == said
    assert ("completionTime" in result.status) == bool({"Succeeded", "Failed"} & said.keys())


def test_it_counts_the_pods_of_each_role():
    lost = {"phase": "Running", "deleting": True}
    result = with_pods(
        TENSORFLOW,
        job_of(TENSORFLOW, PS=replica(), Worker=replica(4, restartPolicy="OnFailure")),
        worker_0="Running",
        worker_1="Failed",
        worker_2=lost,
        worker_3="Pending",
    )

    assert result.status["replicaStatuses"] == {"PS": {}, "Worker": {"active": 1, "failed": 2}}


@pytest.mark.parametrize(
    ("job", "phases", "is_over"),
    [
        pytest.param({"successPolicy": "AllWorkers"}, ("Succeeded", "Running"), False, id="all workers must end"),
        pytest.param({"successPolicy": "AllWorkers"}, ("Succeeded", "Succeeded"), True, id="all workers have ended"),
        pytest.param({"enableDynamicWorker": True}, ("Running", "Failed"), False, id="workers may fail"),
    ],
)
def test_a_tf_job_may_say_what_its_workers_mean(job, phases, is_over):
    raw = job_of(TENSORFLOW, **WORKERS)
    raw["spec"] |= job

    result = with_pods(TENSORFLOW, raw, worker_0=phases[0], worker_1=phases[1])

    assert ("completionTime" in result.status) == is_over


def test_an_elastic_pytorch_job_ends_with_any_worker():
    raw = job_of(PYTORCH, **WORKERS)
    raw["spec"]["elasticPolicy"] = {"minReplicas": 1}

    result = with_pods(PYTORCH, raw, worker_0="Running", worker_1="Succeeded")

    assert told(result.status)["Succeeded"] == "True PyTorchJobSucceeded"


@pytest.mark.parametrize(
    ("policy", "code", "deleted", "said"),
    [
        pytest.param(
            "OnFailure", 1, ["j-worker-0"], "job j is restarting because Worker replica(s) failed.", id="on failure"
        ),
        pytest.param(
            "ExitCode", 137, ["j-worker-0"], "job j is restarting because Worker replica(s) failed.", id="by a signal"
        ),
        pytest.param(
            "ExitCode", 1, [], 'job "j" is failing because "Worker" replica(s) failed.', id="by its own fault"
        ),
    ],
)
def test_a_failed_pod_is_made_anew_where_its_policy_says_so(policy, code, deleted, said):
    job = job_of(JAX, Worker=replica(restartPolicy=policy))

    result = with_pods(JAX, job, worker_0={"phase": "Failed", "code": code, "container": "jax"})

    assert names(result.delete) == deleted
    assert message(result.status, "Restarting" if deleted else "Failed") == said


def test_a_job_that_runs_again_does_not_say_that_it_restarts():
    job = job_of(JAX, status_of("Created=True", "Restarting=True"), Worker=replica(restartPolicy="OnFailure"))

    result = with_pods(JAX, job, worker_0="Running")

    assert told(result.status) == {"Created": "True JAXJobCreated", "Running": "True JAXJobRunning"}


@pytest.mark.parametrize(
    ("limit", "pod", "is_over"),
    [
        pytest.param(0, {"phase": "Failed"}, True, id="none, and a pod failed"),
        pytest.param(1, {"phase": "Failed"}, False, id="a pod is made anew"),
        pytest.param(2, {"phase": "Running", "restarts": 1}, False, id="fewer restarts"),
        pytest.param(2, {"phase": "Running", "restarts": 2}, True, id="as many restarts"),
        pytest.param(0, {"phase": "Running", "restarts": 1}, True, id="none, and a restart"),
    ],
)
def test_the_backoff_limit(limit, pod, is_over):
    job = job_of(PYTORCH, policy={"backoffLimit": limit}, Master=replica(restartPolicy="OnFailure"))

    result = with_pods(PYTORCH, job, master_0=pod)

    assert ("Failed" in told(result.status)) == is_over
    if is_over:
        assert message(result.status, "Failed") == "Job j has failed because it has reached the specified backoff limit"
        assert names(result.delete) == ["j-master-0"]


def test_a_deadline_ends_a_job_and_until_then_it_is_looked_at_again():
    started = status_of("Created=True", startTime="2026-01-01T11:59:00Z")
    job = job_of(PYTORCH, started, {"activeDeadlineSeconds": 90}, Master=replica())

    before = plan(PYTORCH, seen(job))
    after = plan(PYTORCH, seen(job, now=NOON + timedelta(seconds=30)))

    assert before.again_in == 30
    assert message(after.status, "Failed") == "Job j has failed because it was active longer than specified deadline"
    assert after.create == []


def test_a_suspended_job_has_no_pods_and_says_so():
    job = job_of(JAX, status_of("Created=True", "Running=True"), {"suspend": True}, Worker=replica())
    pods = [as_there(made) for made in plan(JAX, seen(job_of(JAX, Worker=replica()))).create]
    job["status"]["replicaStatuses"] = {"Worker": {"active": 1}}

    result = plan(JAX, seen(job, *pods))

    assert (names(result.delete), names(result.delete, "Service")) == (["j-worker-0"], ["j-worker-0"])
    assert told(result.status) == {
        "Created": "True JAXJobCreated",
        "Running": "False JAXJobSuspended",
        "Suspended": "True JAXJobSuspended",
    }
    assert result.status["replicaStatuses"] == {"Worker": {}}
    assert "startTime" not in result.status


def test_a_resumed_job_begins_anew():
    status = status_of("Created=True", "Suspended=True", startTime="2026-01-01T09:00:00Z")

    result = plan(JAX, seen(job_of(JAX, status, Worker=replica())))

    assert told(result.status)["Suspended"] == "False JAXJobResumed"
    assert result.status["startTime"] == "2026-01-01T12:00:00Z"
    assert names(result.create) == ["j-worker-0"]


@pytest.mark.parametrize(
    ("choice", "deleted"),
    [
        pytest.param({}, [], id="none by default"),
        pytest.param({"cleanPodPolicy": "Running"}, ["j-worker-1"], id="those that run"),
        pytest.param({"cleanPodPolicy": "All"}, ["j-worker-0", "j-worker-1"], id="all"),
    ],
)
def test_which_pods_of_a_job_that_has_ended_are_deleted(choice, deleted):
    status = status_of("Created=True", "Succeeded=True", completionTime="2026-01-01T11:00:00Z")
    job = job_of(JAX, policy=choice, Worker=replica(2))
    pods = [
        as_there(made, phase)
        for made, phase in zip(children_of(JAX, job).values(), ("Succeeded", "Running"), strict=True)
    ]

    result = plan(JAX, seen({**job, "status": status}, *pods))

    assert names(result.delete) == deleted
    assert result.create == []


def test_what_still_ran_when_a_job_succeeded_counts_as_succeeded():
    status = status_of("Created=True", "Succeeded=True")
    status["replicaStatuses"] = {"Worker": {"active": 1, "succeeded": 1}}

    result = plan(JAX, seen(job_of(JAX, status, Worker=replica(2))))

    assert result.status["replicaStatuses"] == {"Worker": {"succeeded": 2}}


def test_a_job_goes_when_its_time_to_live_is_over():
    status = status_of("Created=True", "Failed=True", completionTime="2026-01-01T11:59:00Z")
    job = job_of(JAX, status, {"ttlSecondsAfterFinished": 90}, Worker=replica())

    before, after = plan(JAX, seen(job)), plan(JAX, seen(job, now=NOON + timedelta(seconds=30)))

    assert (before.deletes_itself, before.again_in) == (False, 30)
    assert after.deletes_itself


def test_pods_that_are_too_many_go():
    big, small = job_of(JAX, Worker=replica(2)), job_of(JAX, Worker=replica(1))
    made = [as_there(one) for one in plan(JAX, seen(big)).create]

    result = plan(JAX, seen(small, *made))

    assert (names(result.delete), names(result.delete, "Service")) == (["j-worker-1"], ["j-worker-1"])
    assert result.create == []


@pytest.mark.parametrize("kind", [JAX, PADDLE, PYTORCH, TENSORFLOW, XGBOOST], ids=lambda kind: kind.name)
def test_what_was_decided_is_not_decided_again(kind):
    roles = {role: replica() for role in kind.job_kind.roles}
    first = plan(kind, seen(job_of(kind, **roles)))
    children = [as_there(made) for made in first.create]

    second = plan(kind, seen(job_of(kind, first.status, **roles), *children))
    third = plan(kind, seen(job_of(kind, second.status, **roles), *children))

    assert (second.create, second.delete, third.create, third.delete) == ([], [], [], [])
    assert third.status == second.status
    assert third.says == []


def test_every_kind_of_the_training_operator_is_run():
    frameworks = {kind.job_kind.framework for kind in (JAX, PADDLE, PYTORCH, TENSORFLOW, XGBOOST)}
    kubeflows = {one.framework for one in vars(kinds).values() if isinstance(one, kinds.ReplicaJobKind)}

    assert frameworks == kubeflows - {kinds.MPI_JOB.framework}

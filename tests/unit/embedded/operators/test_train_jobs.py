"""TrainJobs on a cluster, by themselves and under Kueue."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api import errors
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.job_kinds import ClusterTrainingRuntime, TrainingRuntime, TrainJob
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.kueue_v1beta2 import Workload
from fleetqueue.embedded.jobset.wiring import controllers as job_sets
from fleetqueue.embedded.operators.train_jobs import TrainJobController, differs, status_of, time_left
from fleetqueue.fleets.faults import Failure
from fleetqueue.testing.virtual_time import advance

from .queued_cluster import NAMESPACE, QUEUED, QueuedCluster, template

pytestmark = pytest.mark.virtual_time
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob")
STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
async def world(broken):
    operators = (job_sets, lambda cluster, metrics: [TrainJobController(cluster, metrics)])
    async with QueuedCluster.open(("jobset", "trainer"), operators, FRAMEWORKS, broken) as cluster:
        yield cluster


def runtime(kind=ClusterTrainingRuntime, **pods):
    job = {"template": template(container="node", **pods), "backoffLimit": 0}
    part = {"name": "node", "template": {"metadata": {"labels": STEP}, "spec": job}}
    spec = {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [part]}}}
    return kind.manifest("r", NAMESPACE if kind is TrainingRuntime else "", spec=spec)


def train_job(labels=None, **spec):
    return TrainJob.manifest("t", NAMESPACE, labels=labels, spec={"runtimeRef": {"name": "r"}, **spec})


async def pod_template(world):
    job_set = await world.get(JobSet, "t")
    return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]


async def test_a_train_job_runs_as_a_job_set_to_its_end(world):
    async with world.running(kueue_too=False):
        await world.add(ClusterTrainingRuntime, runtime(runs="20s"))
        await world.add(TrainJob, train_job(trainer={"numNodes": 3}))
        pods, counted = await world.pods(), (await world.get(TrainJob, "t"))["status"]["jobsStatus"]
        await advance(40)

    assert len(pods) == 3
    assert counted == [{"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]
    assert await world.told(TrainJob, "t") == {"Complete": "True AllJobsCompleted"}


async def test_a_train_job_whose_pods_fail_fails(world):
    async with world.running(kueue_too=False):
        await world.add(TrainingRuntime, runtime(TrainingRuntime, runs="2s", fails=True))
        await world.add(TrainJob, train_job(runtimeRef={"kind": "TrainingRuntime", "name": "r"}))
        await advance(30)

    assert await world.told(TrainJob, "t") == {"Failed": "True FailedJobs"}


async def test_a_train_job_waits_for_its_runtime_and_says_so(world):
    async with world.running(kueue_too=False):
        await world.add(TrainJob, train_job())
        events = (await world.client.list(Event.resource, NAMESPACE)).items
        await world.add(ClusterTrainingRuntime, runtime(), seconds=60)

    why = 'clustertrainingruntimes.trainer.kubeflow.org "r" not found'
    assert {event["note"] for event in events} == {f"TrainJob resources reconciliation failed: {why}"}
    assert len(await world.pods()) == 2


async def test_a_train_job_that_runs_for_too_long_fails_and_its_pods_go(world):
    async with world.running(kueue_too=False):
        await world.add(ClusterTrainingRuntime, runtime())
        await world.add(TrainJob, train_job(activeDeadlineSeconds=30))
        before = await world.pods()
        await advance(60)

    assert len(before) == 2
    assert await world.told(TrainJob, "t") == {"Failed": "True DeadlineExceeded"}
    assert await world.pods() == []


async def test_a_train_job_of_multikueue_is_left_alone(world):
    async with world.running(kueue_too=False):
        await world.add(ClusterTrainingRuntime, runtime())
        await world.add(TrainJob, train_job(managedBy="kueue.x-k8s.io/multikueue"))

    assert await world.pods() == []


async def test_a_foreign_job_set_of_the_same_name_is_left_alone(world):
    foreign = {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": template()}}}], "suspend": True}
    async with world.running(kueue_too=False):
        await world.add(ClusterTrainingRuntime, runtime())
        await world.add(JobSet, JobSet.manifest("t", NAMESPACE, spec=foreign))
        await world.add(TrainJob, train_job())
        (event,) = [
            event
            for event in (await world.client.list(Event.resource, NAMESPACE)).items
            if "TrainJob" in event["reason"]
        ]

    assert "is not controlled by the TrainJob" in event["note"]
    assert [part["name"] for part in (await world.get(JobSet, "t"))["spec"]["replicatedJobs"]] == ["a"]


async def test_a_job_set_that_could_not_be_made_is_made_later(world):
    async with world.running(kueue_too=False):
        world.fleet.hub.way.failures.append(Failure("patch jobsets/*", errors.ServerError("no"), times=2))
        await world.add(ClusterTrainingRuntime, runtime())
        await world.add(TrainJob, train_job(), seconds=30)

    assert len(await world.pods()) == 2


async def test_under_kueue_a_train_job_waits_runs_with_its_flavor_and_ends(world):
    async with world.running():
        await world.add(ClusterTrainingRuntime, runtime(runs="30s"))
        await world.add(TrainJob, train_job(labels=QUEUED), seconds=10)
        workload, made, pods = await world.workload(), await pod_template(world), await world.pods()
        before = (await world.get(TrainJob, "t"))["metadata"]["resourceVersion"]
        await advance(10)
        after = (await world.get(TrainJob, "t"))["metadata"]["resourceVersion"]
        await advance(60)

    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("node", 2)]
    assert workload["metadata"]["name"].startswith("trainjob-t-")
    assert made["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert len(pods) == 2
    assert before == after
    assert await world.finished() == "Succeeded: jobset completed successfully"
    assert (await world.told(TrainJob, "t"))["Suspended"] == "False Resumed"


async def test_under_kueue_an_evicted_train_job_stops_is_as_before_and_runs_again(world):
    async with world.running():
        await world.add(ClusterTrainingRuntime, runtime())
        await world.add(TrainJob, train_job(labels=QUEUED), seconds=10)
        await world.evict()
        stopped, left, made = await world.get(TrainJob, "t"), await world.pods(), await pod_template(world)
        status = (await world.workload())["status"]
        await world.admit_again()

    assert stopped["spec"]["suspend"] is True
    assert [patch["trainingRuntimeSpec"]["template"]["spec"] for patch in stopped["spec"]["runtimePatches"]] == [{}]
    assert "nodeSelector" not in made["spec"]
    assert left == []
    assert "admission" not in status
    assert len(await world.pods()) == 2


async def test_under_kueue_a_train_job_whose_workload_is_deleted_is_as_before_when_it_queues_again(world):
    async with world.running():
        await world.add(ClusterTrainingRuntime, runtime())
        await world.add(TrainJob, train_job(labels=QUEUED), seconds=10)
        first = await world.workload()
        await world.client.delete(Workload.resource, first["metadata"]["name"], NAMESPACE)
        await advance(30)

    second = await world.workload()
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert "nodeSelector" not in second["spec"]["podSets"][0]["template"]["spec"]
    assert len(await world.pods()) == 2


async def test_kueue_refuses_a_train_job_without_its_runtime(world):
    async with world.running():
        with pytest.raises(errors.Forbidden, match="runtime 'r' not found"):
            await world.add(TrainJob, train_job(labels=QUEUED))


def counted(**counts):
    return {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0, **counts}


def job_set_with(*conditions, **counts):
    told = [{"type": kind, "status": "True", "reason": "R", "message": "m"} for kind in conditions]
    return {"status": {"conditions": told, "replicatedJobsStatus": [{**counted(**counts), "more": 1}]}}


@pytest.mark.parametrize(
    ("suspend", "job_set", "told"),
    [
        pytest.param(True, None, {"Suspended": "True Suspended"}, id="suspended"),
        pytest.param(False, job_set_with(), {}, id="never suspended"),
        pytest.param(False, job_set_with("Completed"), {"Complete": "True R"}, id="completed"),
        pytest.param(False, job_set_with("Failed"), {"Failed": "True R"}, id="failed"),
        pytest.param(False, job_set_with("Suspended"), {}, id="its JobSet is suspended still"),
    ],
)
def test_what_a_train_job_says(suspend, job_set, told):
    status = status_of({"spec": {"suspend": suspend, "runtimeRef": {"name": "r"}}}, job_set, NOON)

    assert {each["type"]: f"{each['status']} {each['reason']}" for each in status.get("conditions", ())} == told
    assert status.get("jobsStatus") == ([counted()] if job_set else None)


def test_a_runtime_of_a_kind_that_nobody_knows_is_a_failure():
    status = status_of({"spec": {"runtimeRef": {"name": "r", "kind": "Odd"}}}, None, NOON)

    assert status["conditions"][0]["message"] == "unsupported runtime: Odd.trainer.kubeflow.org"


def test_counts_stay_when_the_job_set_has_gone():
    live = {"jobsStatus": [counted(succeeded=1)]}

    assert status_of({"spec": {"runtimeRef": {"name": "r"}}, "status": live}, None, NOON) == live


def test_the_deadline_counts_from_the_last_start():
    early, late = (f"2026-01-01T11:59:{second}Z" for second in ("00", "50"))
    job = {"metadata": {"creationTimestamp": early}, "spec": {"activeDeadlineSeconds": 30}}
    resumed = {"conditions": [{"type": "Suspended", "status": "False", "lastTransitionTime": late}]}

    assert time_left(job, {}, NOON) == -30
    assert time_left(job, resumed, NOON) == 20
    assert time_left(job, resumed, NOON + timedelta(seconds=5)) == 15
    assert time_left({**job, "spec": {"suspend": True, **job["spec"]}}, {}, NOON) is None
    assert time_left({**job, "spec": {}}, {}, NOON) is None


@pytest.mark.parametrize(
    ("change", "is_other"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"nodeSelector": {}}, False, id="nothing, written out"),
        pytest.param({"nodeSelector": {"a": "b"}}, True, id="a node selector"),
        pytest.param({"tolerations": [{"key": "k"}]}, True, id="a toleration"),
        pytest.param({"dnsPolicy": "ClusterFirst"}, False, id="what a server fills in"),
    ],
)
def test_which_changes_of_a_job_set_are_written(change, is_other):
    def job_set(spec):
        return {"spec": {"replicatedJobs": [{"template": {"spec": {"template": {"spec": spec}}}}]}}

    assert differs(job_set({}), job_set(change)) is is_other

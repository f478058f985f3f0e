"""Whole runs of TrainJobs: Kueue everywhere, the trainer on the workers, and a runtime on all clusters."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.job_kinds import ClusterTrainingRuntime, TrainJob
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.embedded.jobset.wiring import controllers as job_sets
from fleetqueue.embedded.operators.train_jobs import TrainJobController
from fleetqueue.testing.builders import pod_template

from .objects import NAMESPACE, QUEUE
from .queues import arrange, the_workload

STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


@pytest.fixture
async def trained(env):
    env.frameworks = ("batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob")
    env.operators = (job_sets, lambda cluster, metrics: [TrainJobController(cluster, metrics)])
    await env.serve("trainer")
    arrange(env)
    return env


def runtime(runs="60s"):
    pods = pod_template(requests={"cpu": "1"}, annotations={"fleetqueue.dev/run-for": runs})
    pods["spec"]["containers"][0]["name"] = "node"
    part = {"name": "node", "template": {"metadata": {"labels": STEP}, "spec": {"template": pods}}}
    spec = {"mlPolicy": {"numNodes": 2}, "template": {"spec": {"replicatedJobs": [part]}}}
    return ClusterTrainingRuntime.manifest("r", spec=spec)


def train_job():
    return TrainJob.manifest("t", NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec={"runtimeRef": {"name": "r"}})


def has_train_job(env):
    return [worker.name for worker in env.workers if worker.list(TrainJob)]


def jobs_status(env):
    return env.hub.raw(TrainJob, "t", NAMESPACE)["status"]["jobsStatus"]


async def test_a_train_job_runs_on_one_worker_and_its_end_comes_back(trained):
    for cluster in trained.fleet:
        cluster.add(runtime())
    async with trained.kueue():
        trained.hub.add(train_job())
        await trained.fleet.advance(20)
        (worker,) = has_train_job(trained)
        copy, running = trained.fleet[worker].raw(TrainJob, "t", NAMESPACE), jobs_status(trained)
        await trained.fleet.advance(120)

    local = trained.hub.raw(TrainJob, "t", NAMESPACE)
    assert local["spec"]["managedBy"] == kueue.MULTIKUEUE_CONTROLLER
    assert copy["spec"]["managedBy"] == "trainer.kubeflow.org/trainjob-controller"
    assert [patch["manager"] for patch in copy["spec"]["runtimePatches"]] == ["kueue.x-k8s.io/manager"]
    assert [(each["name"], each["active"]) for each in running] == [("node", 1)]
    assert "Complete" in [each["type"] for each in local["status"]["conditions"]]
    assert the_workload(trained).is_finished
    assert has_train_job(trained) == []
    assert trained.hub.list(JobSet) == []


async def test_a_train_job_that_a_worker_evicts_runs_on_the_other(trained):
    for cluster in trained.fleet:
        cluster.add(runtime("90h"))
    async with trained.kueue():
        trained.hub.add(train_job())
        await trained.fleet.advance(20)
        (worker,) = has_train_job(trained)
        trained.fleet[worker].change(kueue.ClusterQueue, "q", spec={"stopPolicy": "HoldAndDrain"})
        await trained.fleet.advance(60)

    other = {"cluster1": "cluster2", "cluster2": "cluster1"}[worker]
    assert has_train_job(trained) == [other]
    assert the_workload(trained).status.cluster_name == other
    assert [(each["name"], each["active"]) for each in jobs_status(trained)] == [("node", 1)]


async def test_a_deactivated_train_job_stops_on_its_worker_and_can_run_again(trained):
    for cluster in trained.fleet:
        cluster.add(runtime("90h"))
    async with trained.kueue():
        trained.hub.add(train_job())
        await trained.fleet.advance(20)
        name = the_workload(trained).name
        trained.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": False})
        await trained.fleet.advance(40)
        stopped, left, counts = the_workload(trained), has_train_job(trained), jobs_status(trained)
        trained.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": True})
        await trained.fleet.advance(40)

    assert not stopped.is_true("QuotaReserved")
    assert left == []
    assert [each["active"] for each in counts] == [0]
    assert len(has_train_job(trained)) == 1


async def test_a_worker_without_the_runtime_gets_the_job_when_it_has_it(trained):
    trained.hub.add(runtime())
    async with trained.kueue():
        trained.hub.add(train_job())
        await trained.fleet.advance(20)
        before = has_train_job(trained)
        for worker in trained.workers:
            worker.add(runtime())
        await trained.fleet.advance(120)

    assert before == []
    assert the_workload(trained).is_finished

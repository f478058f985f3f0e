"""Whole runs of AppWrappers: Kueue everywhere, and who runs AppWrappers on the workers."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.job_kinds import AppWrapper
from fleetqueue.embedded.operators.app_wrappers import AppWrapperController
from fleetqueue.testing.builders import pod_template

from .objects import NAMESPACE, QUEUE
from .queues import arrange, the_workload


@pytest.fixture
async def wrapped(env):
    env.frameworks = ("batch/job", "workload.codeflare.dev/appwrapper")
    env.operators = (lambda cluster, metrics: [AppWrapperController(cluster, metrics)],)
    await env.serve("appwrapper")
    arrange(env)
    return env


def wrapper(runs="60s"):
    pods = pod_template(requests={"cpu": "1"}, annotations={"fleetqueue.dev/run-for": runs})
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": pods}}
    labels = {kueue.QUEUE_LABEL: QUEUE}
    return AppWrapper.manifest("w", NAMESPACE, labels=labels, spec={"components": [{"template": job}]})


def has_wrapper(env):
    return [worker.name for worker in env.workers if worker.list(AppWrapper)]


def status(env):
    return env.hub.raw(AppWrapper, "w", NAMESPACE)["status"]


async def test_an_app_wrapper_runs_on_one_worker_and_its_end_comes_back(wrapped):
    async with wrapped.kueue():
        wrapped.hub.add(wrapper())
        await wrapped.fleet.advance(30)
        (worker,) = has_wrapper(wrapped)
        running, jobs = status(wrapped)["phase"], [job.name for job in wrapped.fleet[worker].list(Job)]
        await wrapped.fleet.advance(120)

    local = wrapped.hub.raw(AppWrapper, "w", NAMESPACE)
    assert local["spec"]["managedBy"] == kueue.MULTIKUEUE_CONTROLLER
    assert running == "Running"
    assert "j" in jobs
    assert local["status"]["phase"] == "Succeeded"
    assert the_workload(wrapped).is_finished
    assert has_wrapper(wrapped) == []


async def test_an_app_wrapper_that_a_worker_evicts_runs_on_the_other(wrapped):
    async with wrapped.kueue():
        wrapped.hub.add(wrapper("90h"))
        await wrapped.fleet.advance(30)
        (worker,) = has_wrapper(wrapped)
        wrapped.fleet[worker].change(kueue.ClusterQueue, "q", spec={"stopPolicy": "HoldAndDrain"})
        await wrapped.fleet.advance(90)

    other = {"cluster1": "cluster2", "cluster2": "cluster1"}[worker]
    assert has_wrapper(wrapped) == [other]
    assert the_workload(wrapped).status.cluster_name == other
    assert status(wrapped)["phase"] == "Running"


async def test_a_deactivated_app_wrapper_stops_on_its_worker_and_can_run_again(wrapped):
    async with wrapped.kueue():
        wrapped.hub.add(wrapper("90h"))
        await wrapped.fleet.advance(30)
        name = the_workload(wrapped).name
        wrapped.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": False})
        await wrapped.fleet.advance(60)
        stopped, left, said = the_workload(wrapped), has_wrapper(wrapped), status(wrapped)
        wrapped.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": True})
        await wrapped.fleet.advance(60)

    assert not stopped.is_true("QuotaReserved")
    assert left == []
    assert {one["type"]: one["status"] for one in said["conditions"]}["QuotaReserved"] == "False"
    assert len(has_wrapper(wrapped)) == 1

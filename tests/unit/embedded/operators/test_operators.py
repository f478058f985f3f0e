"""Each kind of job under Kueue and its operator, on one cluster."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import job_kinds as kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fields import with_value
from fleetqueue.embedded.operators import wiring
from fleetqueue.embedded.operators.children import Service
from fleetqueue.embedded.operators.controller import OperatorController
from fleetqueue.fleets.faults import Failure
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics

from .kinds_under_kueue import each, ending, serving
from .objects import NAMESPACE, kubeflow, ray_job, replica, told

pytestmark = pytest.mark.fleet(workers=0)


def begin_alike(pods, beginnings):
    return len(pods) == len(beginnings) and all(map(str.startswith, pods, beginnings))


@pytest.mark.parametrize("case", each(ending()))
async def test_a_job_waits_runs_and_ends(world, case):
    async with world.running():
        world.submit(case.job)
        was_suspended = case.job_kind.is_suspended(world.job(case))
        await world.fleet.advance(5)
        pods, selectors = world.pods(), {str(pod["spec"].get("nodeSelector")) for pod in world.raw_pods()}
        is_ready = world.workload().is_true("PodsReady")
        await world.fleet.advance(60)

    assert was_suspended
    assert begin_alike(pods, case.pods), pods
    assert selectors == {"{'kubernetes.io/os': 'linux'}"}
    assert is_ready
    assert world.finished() == ("Succeeded", case.success)


@pytest.mark.parametrize("case", each(ending(fails=True)))
async def test_a_job_whose_pods_fail_fails(world, case):
    async with world.running():
        world.submit(case.job)
        await world.fleet.advance(90)

    assert world.finished() == ("Failed", case.failure)


@pytest.mark.parametrize("case", each((*ending(runs="9h"), *serving())))
async def test_an_evicted_job_has_no_pods_and_runs_again_when_it_may(world, case):
    async with world.running():
        world.submit(case.job)
        await world.fleet.advance(10)
        name, before = world.workload().name, world.pods()
        world.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": False})
        await world.fleet.advance(10)
        stopped, left, has_quota = world.job(case), world.pods(), world.workload().is_true("QuotaReserved")
        world.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": True})
        await world.fleet.advance(10)

    assert begin_alike(before, case.pods), before
    assert case.job_kind.is_suspended(stopped)
    assert (left, has_quota) == ([], False)
    assert begin_alike(world.pods(), case.pods), world.pods()
    assert world.workload().is_true("PodsReady")


@pytest.mark.parametrize("case", each(serving()))
async def test_what_serves_runs_on(world, case):
    async with world.running():
        world.submit(case.job)
        await world.fleet.advance(3600)

    assert begin_alike(world.pods(), case.pods), world.pods()
    assert world.workload().is_true("PodsReady")
    assert not world.workload().is_finished


@pytest.mark.parametrize("case", each((*ending(), *serving())))
async def test_a_job_that_multikueue_manages_is_left_alone(world, case):
    job = with_value(case.job, case.job_kind.managed_by, kueue.MULTIKUEUE_CONTROLLER)
    async with world.operators(world.hub):
        world.submit(job)
        await world.fleet.advance(60)

    assert world.pods() == []
    assert "status" not in world.job(case)


async def test_a_job_whose_pods_could_not_be_made_gets_them_later(world):
    async with world.operators(world.hub):
        world.hub.way.failures.append(Failure("create pods/*", errors.ServerError("no"), times=2))
        world.submit(kubeflow(kinds.JAX_JOB, Worker=replica(3, "9h")))
        await world.fleet.advance(30)

    assert world.pods() == ["j-worker-0", "j-worker-1", "j-worker-2"]


async def test_nothing_is_made_for_a_job_that_only_the_cache_still_has(world):
    (operated,) = [one for one in wiring.KUBERAY_OPERATOR if one.job_kind is kinds.RAY_CLUSTER]
    controller = OperatorController(Cluster("hub", world.hub.client()), Metrics(), operated)
    spec = ray_job()["spec"]["rayClusterSpec"]
    gone = kinds.RayCluster.manifest("c", NAMESPACE, spec={**spec, "suspend": False})
    controller.jobs.store.put(with_value(gone, ("metadata", "uid"), "u"))

    await controller.reconcile(f"{NAMESPACE}/c")

    assert world.pods() == []
    assert [one["metadata"]["name"] for one in (await world.hub.client().list(Service.resource, NAMESPACE)).items] == []


async def test_a_job_goes_with_all_that_was_made_for_it(world):
    async with world.operators(world.hub):
        world.submit(ray_job(entrypoint="sleep 9h"))
        await world.fleet.advance(10)
        before = len(world.pods())
        world.hub.remove(kinds.RayJob, "j", NAMESPACE)
        await world.fleet.advance(10)

    assert before == 3
    assert world.pods() == []
    assert [job for job in world.hub.list(Job) if job.namespace == NAMESPACE] == []


async def test_a_container_that_fails_too_often_ends_the_job(world):
    policy = {"backoffLimit": 3}
    async with world.operators(world.hub):
        world.submit(kubeflow(kinds.PYTORCH_JOB, policy=policy, Master=replica(1, "1s", fails=True)))
        await world.fleet.advance(10)
        restarting = world.hub.raw(kinds.PyTorchJob, "j", NAMESPACE)["status"]
        await world.fleet.advance(60)

    status = world.hub.raw(kinds.PyTorchJob, "j", NAMESPACE)["status"]
    assert told(restarting)["Running"] == "True PyTorchJobRunning"
    assert told(status)["Failed"] == "True PyTorchJobFailed"
    assert world.pods() == []


async def test_a_pod_that_somebody_deletes_is_made_anew(world):
    async with world.operators(world.hub):
        world.submit(kubeflow(kinds.PYTORCH_JOB, Master=replica(1, "9h"), Worker=replica(1, "9h")))
        await world.fleet.advance(5)
        before = world.hub.get(Pod, "j-worker-0", NAMESPACE).uid
        world.hub.remove(Pod, "j-worker-0", NAMESPACE)
        await world.fleet.advance(5)

    assert world.hub.get(Pod, "j-worker-0", NAMESPACE).uid != before
    assert "Failed" not in told(world.hub.raw(kinds.PyTorchJob, "j", NAMESPACE)["status"])

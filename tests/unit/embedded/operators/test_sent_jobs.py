"""Each kind of job through MultiKueue: it runs on one worker, and what it says comes back."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.job_kinds import JAX_JOB, RayCluster

from .kinds_under_kueue import each, ending, serving
from .objects import NAMESPACE, ray_cluster_spec, ray_job


def taken(cases):
    """Return the cases of kinds whose copies Kueue takes on workers: of JAXJobs it does not."""
    return [case for case in cases if case.job_kind is not JAX_JOB]


@pytest.mark.parametrize("case", each(taken(ending())))
async def test_a_job_runs_on_a_worker_and_its_end_comes_back(world, case):
    async with world.running():
        world.submit(case.job)
        await world.fleet.advance(10)
        name = world.workload().status.cluster_name
        copied, pods = world.job(case, world.fleet[name]), world.pods(world.fleet[name])
        running, here = world.job(case)["status"], world.pods()
        await world.fleet.advance(60)

    assert copied["metadata"]["labels"][kueue.ORIGIN_LABEL] == "multikueue"
    assert len(pods) == len(case.pods)
    assert here == []
    assert without_moments(running) == without_moments(copied["status"])
    assert world.finished() == ("Succeeded", case.success)
    assert left_on_workers(world, case) == []


@pytest.mark.parametrize("case", each(taken((*ending(runs="9h"), *serving()))))
async def test_a_stopped_job_goes_from_its_worker(world, case):
    async with world.running():
        world.submit(case.job)
        await world.fleet.advance(10)
        before, name = left_on_workers(world, case), world.workload().name
        world.hub.change(kueue.Workload, name, NAMESPACE, spec={"active": False})
        await world.fleet.advance(20)
        stopped, workload = world.job(case), world.workload()

    assert before != []
    assert case.job_kind.is_suspended(stopped)
    assert not workload.is_true("QuotaReserved")
    assert left_on_workers(world, case) == []


def without_moments(status):
    return {name: value for name, value in status.items() if not name.endswith("Time")}


def left_on_workers(world, case):
    """Name what workers have of the hub's job."""
    found = []
    for worker in world.fleet.workers:
        objects = [obj for kind in (case.kind, kueue.Workload, Job) for obj in worker.list(kind)]
        found += [f"{worker.name} {obj}" for obj in objects if obj.namespace == NAMESPACE]
        found += [f"{worker.name} {pod}" for pod in world.pods(worker)]
    return found


async def test_of_an_elastic_job_that_ray_scales_on_its_worker_what_is_more_waits_there(world):
    elastic = {"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}
    cluster = ray_cluster_spec(1, enableInTreeAutoscaling=True)
    job = ray_job(rayClusterSpec=cluster, entrypoint="sleep 9h", metadata=elastic)

    async with world.running():
        world.submit(job)
        await world.fleet.advance(10)
        worker = world.fleet[world.workload().status.cluster_name]
        (ray,) = worker.list(RayCluster)
        made = worker.raw(RayCluster, ray.name, NAMESPACE)
        groups = [{**group, "replicas": 3} for group in made["spec"]["workerGroupSpecs"]]
        worker.change(RayCluster, ray.name, NAMESPACE, spec={"workerGroupSpecs": groups})
        await world.fleet.advance(60)

    pods = [pod for pod in worker.list(Pod) if pod.namespace == NAMESPACE]
    assert [pod.status.phase for pod in pods].count("Pending") == 2
    assert world.workload().is_true("Admitted")

"""Elastic RayJobs and RayServices under Kueue: they have the size that Ray itself gives to the RayCluster they made."""

import pytest

from fleetqueue.api import job_kinds as kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.rules.workload_names import workload_name

from .objects import NAMESPACE, made, ray_cluster_spec, ray_job

pytestmark = pytest.mark.fleet(workers=0)
ELASTIC = {"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}
SPEC = ray_cluster_spec(1, enableInTreeAutoscaling=True)
MAKERS = [
    pytest.param(ray_job(rayClusterSpec=SPEC, entrypoint="sleep 9h", metadata=ELASTIC), {"submitter": 1}, id="RayJob"),
    pytest.param(made(kinds.RayService, {"rayClusterConfig": SPEC}, **ELASTIC), {}, id="RayService"),
]


def cluster_of(world):
    (found,) = world.hub.list(kinds.RayCluster)
    return world.hub.raw(kinds.RayCluster, found.name, NAMESPACE)


async def scale(world, replicas):
    """Let Ray change the size of the cluster, as its autoscaler does."""
    cluster = cluster_of(world)
    groups = [{**group, "replicas": replicas} for group in cluster["spec"]["workerGroupSpecs"]]
    world.hub.change(kinds.RayCluster, cluster["metadata"]["name"], NAMESPACE, spec={"workerGroupSpecs": groups})
    await world.fleet.advance(30)


def slices(world):
    """Return the Workloads of the job from the oldest to the newest; the RayCluster that it made has none."""
    raws = [world.hub.raw(kueue.Workload, view.name, NAMESPACE) for view in world.hub.list(kueue.Workload)]
    return sorted(raws, key=lambda raw: raw["metadata"]["creationTimestamp"])


def sizes(workload):
    return {one["name"]: one.get("count", 1) for one in workload["spec"]["podSets"]}


def running_pods(world):
    return [raw["metadata"]["name"] for raw in world.raw_pods() if raw["status"].get("phase") == "Running"]


@pytest.mark.parametrize(("job", "more"), MAKERS)
async def test_it_grows_by_a_second_workload_when_ray_makes_its_cluster_larger(world, job, more):
    async with world.running():
        world.submit(job)
        await world.fleet.advance(30)
        before = len(running_pods(world))
        await scale(world, 3)

    (kind,) = [one for one in (kinds.RayJob, kinds.RayService) if one.resource.kind == job["kind"]]
    raw, (first, second) = world.hub.raw(kind, "j", NAMESPACE), slices(world)
    assert [sizes(first), sizes(second)] == [{"head": 1, "small": 1, **more}, {"head": 1, "small": 3, **more}]
    assert (is_true(first, "Finished"), is_true(second, "Admitted")) == (True, True)
    generations = raw["metadata"]["generation"], cluster_of(world)["metadata"]["generation"]
    named = workload_name(job["kind"], "ray.io", "j", raw["metadata"]["uid"], "_".join(map(str, generations)))
    assert second["metadata"]["name"] == named
    assert len(running_pods(world)) == before + 2


@pytest.mark.parametrize(("job", "more"), MAKERS)
async def test_its_workload_shrinks_when_ray_makes_its_cluster_smaller(world, job, more):
    async with world.running():
        world.submit(job)
        await world.fleet.advance(30)
        await scale(world, 0)

    (only,) = slices(world)
    assert sizes(only) == {"head": 1, "small": 0, **more}
    assert is_true(only, "Admitted")


async def test_pods_that_do_not_fit_wait_at_the_gate(world):
    job = ray_job(rayClusterSpec=SPEC, entrypoint="sleep 9h", metadata=ELASTIC)

    async with world.running():
        world.submit(job)
        await world.fleet.advance(30)
        before = len(running_pods(world))
        await scale(world, 20)

    assert [is_true(one, "QuotaReserved") for one in slices(world)] == [True, False]
    assert len(running_pods(world)) == before


async def test_its_annotations_say_which_sizes_it_has_and_of_which_cluster(world):
    job = ray_job(rayClusterSpec=SPEC, entrypoint="sleep 9h", metadata=ELASTIC)

    async with world.running():
        world.submit(job)
        await world.fleet.advance(30)
        await scale(world, 2)

    said = world.hub.raw(kinds.RayJob, "j", NAMESPACE)["metadata"]["annotations"]
    generation = cluster_of(world)["metadata"]["generation"]
    assert said["kueue.x-k8s.io/raycluster-generation"] == str(generation)
    assert said["kueue.x-k8s.io/raycluster-podset-replica-sizes"] == (
        '[{"name":"head","count":1},{"name":"small","count":2},{"name":"submitter","count":1}]'
    )


async def test_nobody_writes_when_ray_changes_nothing(world):
    job = made(kinds.RayService, {"rayClusterConfig": SPEC}, **ELASTIC)

    async with world.running():
        world.submit(job)
        await world.fleet.advance(30)
        await scale(world, 2)
        before = [cluster_of(world), *slices(world)]
        await world.fleet.advance(600)

    assert [cluster_of(world), *slices(world)] == before

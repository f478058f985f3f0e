"""Jobs and Deployments on our nodes, from the first pod to the last: all parts together."""

import random

import pytest

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.deployments import Deployment, DeploymentController
from fleetqueue.embedded.kubernetes.finished_jobs import FinishedJobController
from fleetqueue.embedded.kubernetes.garbage_collection import GarbageCollectionController
from fleetqueue.embedded.kubernetes.jobs import JobController
from fleetqueue.embedded.kubernetes.replica_sets import ReplicaSet, ReplicaSetController
from fleetqueue.embedded.nodes.settings import NodeSettings
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

CONTROLLERS = (
    JobController,
    FinishedJobController,
    GarbageCollectionController,
    DeploymentController,
    ReplicaSetController,
)
NODES = (
    NodeSettings("a", capacity={"cpu": "2", "pods": "10"}, number=1),
    NodeSettings("b", capacity={"cpu": "2", "pods": "10"}, number=2),
)


@pytest.fixture
async def cluster(env):
    parts = [kind(env.cluster, env.metrics) for kind in CONTROLLERS]
    async with env.running(env.leases(*NODES), env.kubelet(*NODES), env.scheduler(), *parts):
        yield env


def template(seconds="30s", cpu="1", annotations=None):
    container = {"name": "main", "image": "sleep", "args": [seconds], "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


async def submit(env, name="job", **spec):
    await env.client.create(Job.resource, Job.manifest(name, "default", spec={"template": template(), **spec}))
    await settle()


async def ends(env, name="job"):
    status = (await env.get(Job, name))["status"]
    return [one["type"] for one in status.get("conditions", ()) if one["status"] == "True"]


async def pods(env):
    return (await env.client.list(Pod.resource)).items


async def test_a_job_runs_for_its_time_and_is_complete(cluster):
    await submit(cluster)
    await advance(29)
    assert (await cluster.get(Job, "job"))["status"]["ready"] == 1
    await advance(2)

    status = (await cluster.get(Job, "job"))["status"]
    assert await ends(cluster) == ["SuccessCriteriaMet", "Complete"]
    assert status["completionTime"] == "2026-01-01T00:00:30Z"


async def test_a_job_that_is_larger_than_the_cluster_runs_in_waves(cluster):
    await submit(cluster, parallelism=8, completions=8)
    assert len([pod for pod in await pods(cluster) if pod["spec"].get("nodeName")]) == 4
    await advance(31)
    assert (await cluster.get(Job, "job"))["status"]["succeeded"] == 4
    await advance(30)

    assert await ends(cluster) == ["SuccessCriteriaMet", "Complete"]


async def test_a_suspended_job_stops_its_pods_and_starts_again(cluster):
    await submit(cluster)
    await advance(10)
    await cluster.change(Job, "job", spec={"suspend": True})
    assert await pods(cluster) == []
    await cluster.change(Job, "job", spec={"suspend": False})
    await advance(31)

    assert await ends(cluster) == ["SuccessCriteriaMet", "Complete"]


async def test_a_job_fails_by_its_pods(cluster):
    await submit(cluster, backoffLimit=1, template=template("1s", annotations={"fleetqueue.dev/fails": "true"}))
    await advance(60)

    assert await ends(cluster) == ["FailureTarget", "Failed"]
    assert (await cluster.get(Job, "job"))["status"]["failed"] == 2


async def test_a_deleted_job_takes_its_pods_along(cluster):
    await submit(cluster, parallelism=2, completions=2)
    await cluster.delete(Job, "job")

    assert await cluster.get(Job, "job") is None
    assert await pods(cluster) == []


async def test_a_finished_job_cleans_up_after_itself(cluster):
    await submit(cluster, ttlSecondsAfterFinished=60)
    await advance(89)
    assert await cluster.get(Job, "job") is not None
    await advance(3)

    assert await cluster.get(Job, "job") is None
    assert await pods(cluster) == []


async def test_a_deployment_rolls_by_itself(cluster):
    def spec(image):
        container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "500m"}}}
        pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
        return {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": pod}

    await cluster.client.create(Deployment.resource, Deployment.manifest("web", "default", spec=spec("nginx:1")))
    await settle()
    await cluster.change(Deployment, "web", spec=spec("nginx:2"))
    await advance(1)

    status = (await cluster.get(Deployment, "web"))["status"]
    assert (status["updatedReplicas"], status["availableReplicas"], status["replicas"]) == (3, 3, 3)
    assert {pod["spec"]["containers"][0]["image"] for pod in await pods(cluster)} == {"nginx:2"}
    await cluster.delete(Deployment, "web")
    assert await pods(cluster) == []
    assert (await cluster.client.list(ReplicaSet.resource)).items == []


@pytest.mark.parametrize("seed", range(12))
async def test_no_lost_write_makes_a_job_run_twice_or_hang(cluster, seed):
    cluster.door.chance = random.Random(seed)
    indexed = {"completions": 3, "parallelism": 3, "completionMode": "Indexed"}
    await submit(cluster, "plain", completions=4, parallelism=2)
    await submit(cluster, "indexed", **indexed)
    most = 0
    for _ in range(60):
        await advance(10)
        living = [pod for pod in await pods(cluster) if pod.get("status", {}).get("phase") in ("Pending", "Running")]
        most = max(most, len(living))

    assert most <= 5
    assert await ends(cluster, "plain") == await ends(cluster, "indexed") == ["SuccessCriteriaMet", "Complete"]
    for name, wanted in (("plain", 4), ("indexed", 3)):
        status = (await cluster.get(Job, name))["status"]
        done = [pod for pod in await pods(cluster) if pod["metadata"]["name"].startswith(name)]
        assert (status["succeeded"], status.get("failed", 0), len(done)) == (wanted, 0, wanted)

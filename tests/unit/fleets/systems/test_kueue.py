"""Kueue is told of kinds of jobs that a cluster does not serve, or not yet: what it knows goes on."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import find
from fleetqueue.api.core_v1 import Pod, secret
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.systems.kueue import JOBSET, KUEUE, before
from fleetqueue.fleets.systems.parts import create_all, install, install_kinds
from fleetqueue.manifests import objects
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time

JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
CONFIG = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}
"""
CLUSTER = "cluster1"
SPEC = {"clusterSource": {"kubeConfig": {"location": CLUSTER, "locationType": "Secret"}}}


@pytest.fixture
async def fleet():
    """A hub and a worker with Kueue, whose configuration names JobSets; neither serves them."""
    async with EmbeddedFleet.open(1) as fleet:
        for cluster in fleet.clusters.values():
            await install_kinds(cluster.client(), "kueue")
            await create_all(cluster.client(), before(CONFIG))
        await advance(1)
        yield fleet


async def start(cluster):
    await install(cluster.client(), KUEUE)
    await advance(30)


async def is_ready(cluster):
    pods = (await cluster.client().list(Pod.resource, KUEUE.namespace)).items
    return [pod["status"]["containerStatuses"][0]["ready"] for pod in pods]


async def connect(fleet):
    """Tell the hub's Kueue of the worker; return what it says of it."""
    hub = fleet.hub.client()
    kubeconfig = secret(CLUSTER, KUEUE.namespace, {"kubeconfig": fleet.workers[0].kubeconfig})
    await hub.post(f"/api/v1/namespaces/{KUEUE.namespace}/secrets", kubeconfig)
    await hub.create(kueue.MultiKueueCluster.resource, kueue.MultiKueueCluster.manifest(CLUSTER, spec=SPEC))
    await advance(10)
    return await said(fleet)


async def said(fleet):
    raw = await fleet.hub.client().get(kueue.MultiKueueCluster.resource, CLUSTER)
    active = find(kueue.MultiKueueCluster.view(raw).status.conditions, "Active")
    return f"{active.status} {active.reason}: {active.message}"


async def test_a_hub_that_does_not_serve_a_configured_kind_works_with_the_others(fleet):
    await install_kinds(fleet.workers[0].client(), "jobset")
    await start(fleet.hub)
    await create_all(fleet.hub.client(), objects("single-clusterqueue.yaml"))
    (manifest,) = objects("job-demo1.yaml")
    name = (await fleet.hub.client().create(Job.resource, manifest))["metadata"]["name"]
    await advance(60)

    job = Job.view(await fleet.hub.client().get(Job.resource, name, "default"))
    assert await is_ready(fleet.hub) == [True]
    assert "Complete" in [condition.type for condition in job.status.conditions]
    assert await connect(fleet) == "True Active: Connected"


async def test_a_worker_that_does_not_serve_a_configured_kind_is_not_connected_until_it_does(fleet):
    await start(fleet.hub)
    before = await connect(fleet)
    await install_kinds(fleet.workers[0].client(), "jobset")
    await advance(60)

    missing = 'no matches for kind "JobSet" in version "jobset.x-k8s.io/v1alpha2"'
    assert before == f"False ClientConnectionFailed: {missing}"
    assert await said(fleet) == "True Active: Connected"


async def test_a_kind_that_comes_later_is_queued_then_without_a_restart_of_the_pod(fleet):
    client = fleet.hub.client()
    await start(fleet.hub)
    await install_kinds(client, "jobset")
    await install(client, JOBSET)
    await advance(150)
    await create_all(client, objects("single-clusterqueue.yaml"))
    await client.post(JOBSETS, job_set())
    await advance(60)

    workloads = [kueue.Workload.view(raw) for raw in (await client.list(kueue.Workload.resource)).items]
    assert [workload.is_finished for workload in workloads] == [True]
    pods = (await client.list(Pod.resource, KUEUE.namespace)).items
    assert {pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods} == {0}


def job_set():
    resources = {"requests": {"cpu": "1"}}
    pod = {"containers": [{"name": "c", "image": "i", "resources": resources}], "restartPolicy": "Never"}
    notes = {"fleetqueue.dev/run-for": "1s"}
    job = {"spec": {"template": {"metadata": {"annotations": notes}, "spec": pod}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "js", "labels": {kueue.QUEUE_LABEL: "user-queue-demo1"}},
        "spec": {"replicatedJobs": [{"name": "part", "template": job}]},
    }

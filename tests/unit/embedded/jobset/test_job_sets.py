"""JobSets on a cluster, by themselves and under Kueue."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.jobset.defaults import hooks
from fleetqueue.embedded.jobset.job_sets import Service
from fleetqueue.embedded.jobset.wiring import controllers
from fleetqueue.embedded.kueue import wiring as kueue_room
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.faults import Failure
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance
from tests.invariants.second_look import managed
from tests.invariants.standing_by import watched_over

from .objects import NAMESPACE, job_set, part

pytestmark = pytest.mark.virtual_time

KUEUE = KueueSettings(frameworks=("batch/job", "jobset.x-k8s.io/jobset"))


class World:
    def __init__(self, fleet):
        self.fleet = fleet
        self.client = fleet.hub.client()

    @asynccontextmanager
    async def managed(self, *, kueue_too=False):
        cluster, metrics = Cluster("hub", self.fleet.dial(parse(self.fleet.hub.kubeconfig))), Metrics()
        made = [*controllers(cluster, metrics)]
        if kueue_too:
            made += kueue_room.controllers(cluster, metrics, KUEUE)
        async with managed(Manager(cluster, made)):
            await advance(2)
            yield

    async def add(self, manifest):
        metadata = {key: value for key, value in manifest["metadata"].items() if key != "uid"}
        await self.client.create(JobSet.resource, {**manifest, "metadata": metadata})
        await advance(5)

    async def job_set(self):
        return await self.client.get(JobSet.resource, "s", NAMESPACE)

    async def told(self):
        found = (await self.job_set()).get("status") or {}
        return {each["type"]: f"{each['status']} {each['reason']}" for each in found.get("conditions", ())}

    async def jobs(self):
        return (await self.client.list(Job.resource, NAMESPACE)).items

    async def patch(self, **fields):
        await self.client.merge(JobSet.resource, "s", NAMESPACE, fields)
        await advance(8)


@pytest.fixture
async def world(broken):
    async with EmbeddedFleet.open(workers=0) as fleet:
        found = World(fleet)
        for definition in (*crds("kueue"), *crds("jobset")):
            await found.client.create(CustomResourceDefinition.resource, definition)
        await advance(60)
        await found.client.create(Namespace.resource, Namespace.manifest(NAMESPACE))
        async with watched_over({HUB: found.client}, broken=broken):
            yield found


@pytest.fixture
async def queued(world):
    quota = {"name": "cpu", "nominalQuota": "1"}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": groups}
    labels = {"nodeLabels": {"kubernetes.io/os": "linux"}}
    for kind, manifest in (
        (kueue.ResourceFlavor, kueue.ResourceFlavor.manifest("default", spec=labels)),
        (kueue.ClusterQueue, kueue.ClusterQueue.manifest("q", spec=spec)),
        (kueue.LocalQueue, kueue.LocalQueue.manifest("q", NAMESPACE, spec={"clusterQueue": "q"})),
    ):
        await world.client.create(kind.resource, manifest)
    return world


async def test_a_jobset_runs_to_its_end(world):
    async with world.managed():
        await world.add(job_set(part(runs="10s")))
        running_jobs = await world.jobs()
        await advance(40)

    status = (await world.job_set())["status"]
    assert [job["metadata"]["name"] for job in running_jobs] == ["s-workers-0", "s-workers-1"]
    assert (await world.told())["Completed"] == "True AllJobsCompleted"
    assert status["terminalState"] == "Completed"
    assert status["replicatedJobsStatus"][0]["succeeded"] == 2
    assert (await world.client.get(Service.resource, "s", NAMESPACE))["spec"]["clusterIP"] == "None"


async def test_a_failed_jobset_is_restarted_and_then_fails(world):
    async with world.managed():
        await world.add(job_set(part(replicas=1, runs="2s", fails=True), failurePolicy={"maxRestarts": 1}))
        await advance(60)

    assert (await world.job_set())["status"]["restarts"] == 1
    assert (await world.told())["Failed"] == "True ReachedMaxRestarts"


async def test_a_suspended_jobset_is_resumed(world):
    async with world.managed():
        await world.add(job_set(suspend=True))
        waiting = [job["spec"]["suspend"] for job in await world.jobs()]
        await world.patch(spec={"suspend": False})

    assert waiting == [True, True]
    assert [job["spec"]["suspend"] for job in await world.jobs()] == [False, False]
    assert (await world.told())["Suspended"] == "False ResumeJobs"


async def test_it_is_quiet_when_all_runs(world):
    async with world.managed():
        await world.add(job_set())
        await advance(10)
        before = (await world.job_set())["metadata"]["resourceVersion"]
        await advance(300)

    assert (await world.job_set())["metadata"]["resourceVersion"] == before


async def test_jobs_that_could_not_be_made_are_made_later(world):
    async with world.managed():
        world.fleet.hub.way.failures.append(Failure("create jobs/*", errors.ServerError("no"), times=2))
        await world.add(job_set())
        await advance(20)

    assert len(await world.jobs()) == 2


async def test_under_kueue_a_jobset_waits_runs_with_its_flavor_and_ends(queued):
    async with queued.managed(kueue_too=True):
        await queued.add(job_set(part(runs="20s"), labels={kueue.QUEUE_LABEL: "q"}, suspend=True))
        workloads = (await queued.client.list(kueue.Workload.resource, NAMESPACE)).items
        jobs = await queued.jobs()
        await advance(60)

    assert [(each["name"], each["count"]) for each in workloads[0]["spec"]["podSets"]] == [("workers", 2)]
    assert workloads[0]["metadata"]["name"].startswith("jobset-s-")
    assert [job["spec"]["template"]["spec"]["nodeSelector"] for job in jobs] == [{"kubernetes.io/os": "linux"}] * 2
    finished = (await queued.client.list(kueue.Workload.resource, NAMESPACE)).items[0]["status"]["conditions"]
    assert next(each["message"] for each in finished if each["type"] == "Finished") == "jobset completed successfully"


async def test_under_kueue_an_evicted_jobset_stops_with_all_its_jobs(queued):
    async with queued.managed(kueue_too=True):
        await queued.add(job_set(labels={kueue.QUEUE_LABEL: "q"}, suspend=True))
        await advance(10)
        workload = (await queued.client.list(kueue.Workload.resource, NAMESPACE)).items[0]["metadata"]["name"]
        await queued.client.merge(kueue.Workload.resource, workload, NAMESPACE, {"spec": {"active": False}})
        await advance(15)

    raw = await queued.job_set()
    status = (await queued.client.get(kueue.Workload.resource, workload, NAMESPACE))["status"]
    template = raw["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert raw["spec"]["suspend"] is True
    assert "nodeSelector" not in template["spec"]
    assert [job["spec"]["suspend"] for job in await queued.jobs()] == [True, True]
    assert "admission" not in status


async def test_under_kueue_the_jobs_of_a_waiting_jobset_are_stopped(queued):
    async with queued.managed(kueue_too=True):
        await queued.add(job_set(part(replicas=20), labels={kueue.QUEUE_LABEL: "q"}, suspend=True))
        await queued.client.merge(Job.resource, "s-workers-0", NAMESPACE, {"spec": {"suspend": False}})
        await advance(5)

    assert all(job["spec"]["suspend"] for job in await queued.jobs())


async def test_a_plain_jobset_is_completed_before_it_is_stored(world):
    world.fleet.hub.server.webhooks.install("jobset", hooks())
    plain = JobSet.manifest("s", NAMESPACE, spec={"replicatedJobs": [part()]})

    await world.add(plain)

    spec = (await world.job_set())["spec"]
    assert spec["successPolicy"]["operator"] == "All"
    assert spec["network"]["enableDNSHostnames"] is True
    assert spec["replicatedJobs"][0]["template"]["spec"]["completionMode"] == "Indexed"

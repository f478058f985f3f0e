"""Where the pods of a job are, and who may read them."""

import asyncio

import pytest

from fleetqueue.admin.job_location import JobLocation, NoPods, locate, locate_once_sent, pods_of
from fleetqueue.admin.job_logs import JobLogs
from fleetqueue.admin.known_clusters import HUB, KnownCluster
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import POD_SCHEDULED, Node, Pod
from fleetqueue.api.fleetqueue import CLUSTER_LABEL
from fleetqueue.api.kueue_pods import GROUP_NAME
from fleetqueue.client import Client
from fleetqueue.testing.builders import by_secret, condition, pod_template

URL = "https://c1.example:6443"
LOCATION = JobLocation("Job/train", "team-a", "c1", fleet={"c1": KnownCluster((URL,)), HUB: KnownCluster()})


def workload(*conditions):
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    status = {"conditions": list(conditions), "clusterName": "gpu-c1"}
    manifest = kueue.Workload.manifest("w", "team-a", spec={"queueName": "q"}, status=status)
    manifest["metadata"]["ownerReferences"] = [owner]
    return manifest


@pytest.fixture
async def hub(api):
    spec = {"hubAcceptsClient": True, "managedClusterClientConfigs": [{"url": URL}]}
    api.add(cluster.ManagedCluster.manifest("c1", spec=spec))
    api.add(kueue.MultiKueueCluster.manifest("gpu-c1", labels={CLUSTER_LABEL: "c1"}, spec=by_secret()))
    api.add(kueue.LocalQueue.manifest("q", "team-a", spec={"clusterQueue": "cq"}))
    api.add(kueue.ClusterQueue.manifest("cq", spec={}, status={"conditions": [condition("Active")]}))
    return Client(api)


async def test_a_job_that_runs_is_on_its_cluster(api, hub):
    api.add(workload(condition("QuotaReserved"), condition("Admitted")))

    location = await locate(hub, "team-a", "train")

    assert (location.job, location.cluster, location.known.urls) == ("Job/train", "c1", (URL,))


async def test_a_job_that_waits_has_no_pods_and_says_why(api, hub):
    api.add(workload(condition("QuotaReserved", "False", message="no GPU is free")))

    with pytest.raises(NoPods, match="Job/train has no pods: it is Pending: no GPU is free"):
        await locate(hub, "team-a", "train")


async def test_who_follows_a_job_that_waits_hears_why_once_and_then_where_it_is(api, hub):
    api.add(workload(condition("QuotaReserved", "False", message="no GPU is free")))
    told = []

    waiting = asyncio.create_task(locate_once_sent(hub, "team-a", "train", told.append))
    await asyncio.sleep(5)
    admitted = [condition("QuotaReserved"), condition("Admitted")]
    api.change(kueue.Workload, "w", "team-a", status={"conditions": admitted})

    assert (await waiting).cluster == "c1"
    assert told == ["Job/train has no pods: it is Pending: no GPU is free"]


async def test_a_job_that_is_not_there_is_not_found(hub):
    with pytest.raises(errors.NotFound, match='there is no job "train" in namespace team-a'):
        await locate(hub, "team-a", "train")


def pod(name, owner=None, **labels):
    manifest = Pod.manifest(name, "team-a", labels=labels, spec={"containers": [{"name": "c", "image": "x"}]})
    if owner is not None:
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": owner.name, "uid": owner.uid, "controller": True}
        manifest["metadata"]["ownerReferences"] = [reference]
    return manifest


def job(name, owner=None):
    manifest = Job.manifest(name, "team-a", spec={"suspend": True, "template": pod_template()})
    manifest["metadata"]["ownerReferences"] = [owner] if owner else []
    return manifest


PAIR = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "pair", "uid": "s", "controller": True}


async def names(api, job_name):
    return [one["metadata"]["name"] for one in await pods_of(Client(api), JobLocation(job_name, "team-a", "c1"))]


async def test_pods_are_known_by_who_made_them(api):
    api.add(job("train"), job("pair-0", PAIR))
    api.add(pod("train-x", api.get(Job, "train", "team-a")), pod("pair-0-x", api.get(Job, "pair-0", "team-a")))
    api.add(pod("lone"), pod("g-0", **{GROUP_NAME: "g"}), pod("g-1", **{GROUP_NAME: "g"}))

    assert await names(api, "Job/train") == ["train-x"]
    assert await names(api, "JobSet/pair") == ["pair-0-x"]
    assert await names(api, "Pod/lone") == ["lone"]
    assert await names(api, "Pod/g") == ["g-0", "g-1"]


async def test_what_may_not_be_read_ends_the_way_up(api):
    api.add(job("pair-0", PAIR))
    api.add(pod("pair-0-x", api.get(Job, "pair-0", "team-a")))
    api.fail_on("get jobs*", errors.Forbidden("no"))

    assert await names(api, "JobSet/pair") == []
    assert await names(api, "Job/pair-0") == ["pair-0-x"]


async def test_a_log_that_cannot_be_read_is_a_note(api):
    api.add(job("train"))
    on_lost_node = pod("train-x", api.get(Job, "train", "team-a"))
    on_lost_node["spec"]["nodeName"] = "lost"
    api.add(on_lost_node)

    (line,) = [line async for line in JobLogs(Client(api), LOCATION).lines()]

    assert (line.pod, line.is_note) == ("train-x", True)


@pytest.mark.parametrize(
    ("annotations", "is_told"),
    [pytest.param({"kwok.x-k8s.io/node": "fake"}, True, id="by kwok"), pytest.param({}, False, id="by a kubelet")],
)
async def test_that_a_node_is_simulated_is_told_where_it_has_no_log(api, annotations, is_told):
    api.add(job("train"), Node.manifest("n", annotations=annotations))
    of_train = pod("train-x", api.get(Job, "train", "team-a"))
    of_train["spec"]["nodeName"] = "n"
    api.add(of_train)
    api.fail_on("get pods/*train-x/log", errors.ServerError("no such host"))

    (line,) = [line async for line in JobLogs(Client(api), LOCATION).lines()]

    assert ("its node n is simulated by kwok, which has no logs of pods" == line.text) == is_told


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        pytest.param([], "has no node yet", id="nobody has looked for one"),
        pytest.param(
            [condition(POD_SCHEDULED, False, "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")],
            "has no node yet: 0/1 nodes are available: 1 Insufficient cpu.",
            id="none has room",
        ),
        pytest.param(
            [condition(POD_SCHEDULED, False, "SchedulingGated")],
            "has no node yet: SchedulingGated",
            id="without a message",
        ),
    ],
)
async def test_of_a_pod_without_a_node_it_is_said_what_the_scheduler_says(api, conditions, text):
    api.add(job("train"))
    waiting = pod("train-x", api.get(Job, "train", "team-a"))
    api.add({**waiting, "status": {"conditions": conditions}})

    (line,) = [line async for line in JobLogs(Client(api), LOCATION).lines()]

    assert line == ("train-x", text, True)


async def test_who_follows_pods_without_logs_hears_so_once_and_ends_with_the_job(api):
    api.add(job("train"))
    on_lost_node = pod("train-x", api.get(Job, "train", "team-a"))
    on_lost_node["spec"]["nodeName"] = "lost"
    api.add(on_lost_node)
    api.fail_on("get pods/*train-x/log", errors.ServerError("no such host"))
    told = []

    async def follow():
        async for line in JobLogs(Client(api), LOCATION).lines(follow=True):
            told.append(line.text)

    following = asyncio.create_task(follow())
    await asyncio.sleep(5)
    api.remove(Pod, "train-x", "team-a")
    await asyncio.wait_for(following, 5)

    assert told == ["no such host"]


@pytest.mark.parametrize(
    ("location", "word"),
    [
        pytest.param(LOCATION, "has no pods on c1 yet; --follow waits", id="not yet"),
        pytest.param(JobLocation("Job/x", "ns", "c1", has_ended=True), "MultiKueue removes", id="sent, and ended"),
        pytest.param(JobLocation("Job/x", "ns", "", has_ended=True), "its pods on the hub are gone", id="on the hub"),
    ],
)
def test_a_job_without_pods_says_where_they_are(location, word):
    assert word in location.without_pods

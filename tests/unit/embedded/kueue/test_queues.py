"""What queues say of themselves, and how long they and what they name are kept."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.testing.virtual_time import advance

from .scheduling.objects import NAMESPACE, group, local_queue_manifest, queue_manifest, quota, workload_manifest

pytestmark = pytest.mark.virtual_time

READY = {"Active": "True Ready: Can admit new workloads"}


async def numbers(world, kind="ClusterQueue", namespace=""):
    status = (await world.get(kind, "q", namespace))["status"]
    return [status[f"{what}Workloads"] for what in ("pending", "reserving", "admitted")]


async def test_a_queue_says_how_it_stands(world):
    async with world.managed():
        await world.add(workload_manifest("a", cpu="3"))
        await advance(1)
        await world.add(workload_manifest("b", cpu="2"))
        await advance(3)

    status = (await world.get("ClusterQueue", "q"))["status"]
    used = {"name": "default", "resources": [{"name": "cpu", "total": "3"}]}
    assert await world.told("q", "ClusterQueue", "") == READY
    assert await numbers(world) == [1, 1, 1]
    assert await numbers(world, "LocalQueue", NAMESPACE) == [1, 1, 1]
    assert status["flavorsUsage"] == [
        {"name": "default", "resources": [{"name": "cpu", "total": "3", "borrowed": "0"}]}
    ]
    assert (await world.get("LocalQueue", "q", NAMESPACE))["status"]["flavorsReservation"] == [used]
    assert await world.told("q", "LocalQueue") == {"Active": "True Ready: Can submit new workloads to localQueue"}


async def test_nobody_waits_in_a_local_queue_that_is_stopped(world):
    async with world.managed():
        await world.add(workload_manifest("a", cpu="3"))
        await advance(1)
        await world.add(workload_manifest("b", cpu="2"))
        await advance(3)
        await world.client.merge(kueue.LocalQueue.resource, "q", NAMESPACE, {"spec": {"stopPolicy": "Hold"}})
        await advance(3)

    assert await numbers(world, "LocalQueue", NAMESPACE) == [0, 1, 1]


async def test_what_is_borrowed_is_told(world):
    lender = queue_manifest("lender", cohort="c")
    borrower = queue_manifest("borrower", group(default=quota(1)), cohort="c")
    async with world.managed():
        await world.add(
            lender, borrower, local_queue_manifest("borrower"), workload_manifest("a", cpu="3", to="borrower")
        )
        await advance(3)

    status = (await world.get("ClusterQueue", "borrower"))["status"]
    assert status["flavorsReservation"][0]["resources"] == [{"name": "cpu", "total": "3", "borrowed": "2"}]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param({"stopPolicy": "Hold"}, "False Stopped: Can't admit new workloads: is stopped.", id="stopped"),
        pytest.param(
            {"resourceGroups": [group(missing=quota(1))]},
            "False FlavorNotFound: Can't admit new workloads: references missing ResourceFlavor(s): missing.",
            id="a flavor is missing",
        ),
    ],
)
async def test_a_queue_that_cannot_admit_says_why(world, spec, says):
    async with world.managed():
        await world.change(await world.get("ClusterQueue", "q"), spec=spec)
        await advance(2)

    assert await world.told("q", "ClusterQueue", "") == {"Active": says}
    assert await world.told("q", "LocalQueue") == {
        "Active": "False ClusterQueueIsInactive: Can't submit new workloads to clusterQueue"
    }


async def test_a_local_queue_says_when_it_is_stopped_or_leads_nowhere(world):
    async with world.managed():
        await world.add(local_queue_manifest("stopped", to="q", stop="Hold"), local_queue_manifest("lost"))
        await advance(2)

    assert await world.told("stopped", "LocalQueue") == {"Active": "False Stopped: LocalQueue is stopped"}
    assert await world.told("lost", "LocalQueue") == {
        "Active": "False ClusterQueueDoesNotExist: Can't submit new workloads to clusterQueue"
    }


async def test_a_deleted_queue_stays_until_nobody_holds_its_quota(world):
    async with world.managed():
        await world.add(workload_manifest("a"))
        await advance(2)
        await world.delete("ClusterQueue", "q")
        held = await world.told("q", "ClusterQueue", "")
        await world.delete("Workload", "a", NAMESPACE)
        await advance(2)

    assert held == {"Active": "False Terminating: Can't admit new workloads; clusterQueue is terminating"}
    with pytest.raises(errors.NotFound):
        await world.get("ClusterQueue", "q")


async def test_a_flavor_stays_while_a_queue_names_it(world):
    async with world.managed():
        await world.delete("ResourceFlavor", "default")
        held = await world.get("ResourceFlavor", "default")
        await world.delete("ClusterQueue", "q")

    assert held["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    with pytest.raises(errors.NotFound):
        await world.get("ResourceFlavor", "default")


async def test_a_topology_stays_while_a_flavor_names_it(world):
    levels = [{"nodeLabel": "rack"}]
    flavor = {"nodeLabels": {"pool": "p"}, "topologyName": "t"}
    async with world.managed():
        await world.add(
            Topology.manifest("t", spec={"levels": levels}), kueue.ResourceFlavor.manifest("racks", spec=flavor)
        )
        await advance(1)
        await world.delete("Topology", "t")
        held = await world.get("Topology", "t")
        await world.delete("ResourceFlavor", "racks")

    assert held["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    with pytest.raises(errors.NotFound):
        await world.get("Topology", "t")


async def test_a_check_stays_while_a_queue_names_it(world):
    check = kueue.AdmissionCheck.manifest("ac", spec={"controllerName": "example.com/check"})
    listed = {"admissionChecksStrategy": {"admissionChecks": [{"name": "ac"}]}}
    async with world.managed():
        await world.add(check)
        await world.change(await world.get("ClusterQueue", "q"), spec=listed)
        await world.delete("AdmissionCheck", "ac")
        held = await world.get("AdmissionCheck", "ac")
        await world.change(await world.get("ClusterQueue", "q"), spec={"admissionChecksStrategy": None})

    assert held["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    with pytest.raises(errors.NotFound):
        await world.get("AdmissionCheck", "ac")

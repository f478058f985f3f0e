"""Nodes that fail under Workloads that were placed on them."""

import pytest

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.events_v1 import Event
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.topology_pods.failed_nodes import FailedNodeController
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.pods.objects import pods
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE

from .objects import HOST, admitted_status, alone, asked_set, placed, pod

pytestmark = pytest.mark.virtual_time
LOST_TWO = "Workload eviction triggered due to multiple TAS assigned node failures, including: n1, n2"


@pytest.fixture
async def placed_workload(world):
    """A Workload on three nodes."""
    for name in ("n1", "n2", "n3"):
        capacity = {"cpu": "4", "pods": "10"}
        made = Node.manifest(name, labels={HOST: name}, status={"capacity": capacity, "allocatable": capacity})
        await world.client.create(Node.resource, made)
    await advance(15)
    part = placed(("n1", 1), ("n2", 1))
    body = {"queueName": "q", "podSets": [asked_set(part)]}
    await world.add(kueue.Workload.manifest("w", NAMESPACE, spec=body, status=admitted_status(part)))
    return world


def watched(world, **gates):
    settings = KueueSettings(feature_gates=gates)
    return alone(world, lambda *given: FailedNodeController(*given, settings))


def told(name, node, **spec):
    """A pod that may run on one node alone."""
    raw = pod(name, on=node)
    raw["metadata"]["annotations"]["fleetqueue.dev/run-for"] = "1000s"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": raw["metadata"], "spec": {**raw["spec"], **spec}}


async def lost(world):
    status = (await world.workload("w"))["status"]
    return [each["name"] for each in status.get("unhealthyNodes", ())]


async def taint(world, node, *keys):
    taints = [{"key": key, "effect": "NoSchedule"} for key in keys] or None
    await world.client.merge(Node.resource, node, "", {"spec": {"taints": taints}})
    await advance(3)


async def silence(world, node):
    """Switch the machine off."""
    annotations = {"fleetqueue.dev/silent": "true"}
    await world.client.merge(Node.resource, node, "", {"metadata": {"annotations": annotations}})


async def not_ready(world, node):
    raw = await world.client.get(Node.resource, node)
    now = timestamp(clock.now())
    conditions = [
        {**each, "status": "False", "lastTransitionTime": now} if each["type"] == "Ready" else each
        for each in raw["status"]["conditions"]
    ]
    patch = {"status": {"conditions": conditions}}
    await world.client.merge(Node.resource, node, "", patch, subresource="status")


async def remove(world, node):
    await world.client.delete(Node.resource, node)
    await advance(3)


async def test_a_node_that_is_deleted_is_lost(placed_workload):
    async with watched(placed_workload):
        assert await lost(placed_workload) == []

        await remove(placed_workload, "n1")

        assert await lost(placed_workload) == ["n1"]


async def test_who_loses_two_nodes_is_evicted(placed_workload):
    async with watched(placed_workload):
        await remove(placed_workload, "n1")
        await remove(placed_workload, "n2")

        conditions = await placed_workload.told("w")
        assert conditions["Evicted"] == f"True NodeFailures: {LOST_TWO}"
        assert await lost(placed_workload) == []
        assert f"EvictedDueToNodeFailures: {LOST_TWO}" in [
            f"{event['reason']}: {event['note']}" for event in await events(placed_workload)
        ]


async def events(world):
    return (await world.client.list(Event.resource, NAMESPACE)).items


async def test_a_tainted_node_is_lost_until_the_taint_has_gone(placed_workload):
    async with watched(placed_workload):
        await taint(placed_workload, "n1", "maintenance")
        assert await lost(placed_workload) == ["n1"]

        await taint(placed_workload, "n1")
        assert await lost(placed_workload) == []


async def test_a_taint_that_the_flavor_tolerates_is_none(placed_workload):
    tolerations = [{"key": "maintenance", "operator": "Exists"}]
    await placed_workload.client.merge(
        kueue.ResourceFlavor.resource, "default", "", {"spec": {"tolerations": tolerations}}
    )

    async with watched(placed_workload):
        await taint(placed_workload, "n1", "maintenance")

        assert await lost(placed_workload) == []


async def test_a_node_is_kept_as_long_as_a_pod_runs_there(placed_workload):
    await placed_workload.add(told("a", "n1"))
    await advance(5)
    async with watched(placed_workload):
        await taint(placed_workload, "n1", "maintenance")
        assert await lost(placed_workload) == []

        await placed_workload.delete("Pod", "a", NAMESPACE)
        await advance(40)
        assert await lost(placed_workload) == ["n1"]


async def test_a_pod_that_waits_for_a_lost_node_fails(placed_workload):
    await taint(placed_workload, "n1", "maintenance")
    async with watched(placed_workload):
        await placed_workload.add(told("a", "n1"))
        await advance(2)

        status = (await pods(placed_workload))["a"]["status"]
        assert status["phase"] == "Failed"
        assert [each["reason"] for each in status["conditions"] if each["type"] == "TerminatedByKueue"] == [
            "UnschedulableOnAssignedNode"
        ]
        assert "PodTerminatedByKueue" in [event["reason"] for event in await events(placed_workload)]


async def test_a_pod_that_is_told_a_node_which_was_replaced_fails(placed_workload):
    async with watched(placed_workload):
        await placed_workload.add(told("late", "n3", schedulerName="nobody"))
        await advance(2)

        assert (await pods(placed_workload))["late"]["status"]["phase"] == "Failed"
        assert await lost(placed_workload) == []


async def test_a_silent_node_is_lost_when_its_pods_are_gone(placed_workload):
    async with watched(placed_workload):
        await silence(placed_workload, "n1")
        await advance(120)

        assert await lost(placed_workload) == ["n1"]


async def test_a_fixed_time_decides_where_the_gate_says_so(placed_workload):
    await placed_workload.add(told("a", "n1"))
    await advance(5)
    gates = {"TASReplaceNodeDueToNotReadyOverFixedTime": True, "TASReplaceNodeOnPodTermination": False}
    async with watched(placed_workload, **gates):
        await silence(placed_workload, "n1")
        await not_ready(placed_workload, "n1")
        await advance(5)
        assert await lost(placed_workload) == []

        await advance(60)
        assert await lost(placed_workload) == ["n1"]

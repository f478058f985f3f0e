"""The scheduler on a cluster with topologies: what it writes, also where nodes fail, and that it is quiet."""

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_topology import HOSTNAME, Topology
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.fleets.faults import Failure
from fleetqueue.rules.workload_admission import applied
from fleetqueue.testing.virtual_time import advance

from .objects import group, local_queue_manifest, pod_set, queue_manifest, quota, workload_manifest

pytestmark = pytest.mark.virtual_time

ADMITTED = {"QuotaReserved": "True QuotaReserved", "Admitted": "True Admitted"}
LABELS = {"pool": "tas"}


def node(name, rack, cpu="2"):
    status = {
        "allocatable": {"cpu": cpu, "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": ""}],
    }
    return Node.manifest(name, labels={"rack": rack, HOSTNAME: name, **LABELS}, status=status)


def asking(name, count, **topology):
    one = {**pod_set(count=count, requests={"cpu": "1"}), "topologyRequest": topology or {"required": "rack"}}
    return workload_manifest(name, one, to="racks")


async def racks(env, *nodes, **spec):
    """Set a queue up with racks of nodes."""
    levels = [{"nodeLabel": label} for label in ("rack", HOSTNAME)]
    for one in nodes:
        made = await env.client.create(Node.resource, one)
        await env.client.merge(
            Node.resource, made["metadata"]["name"], "", {"status": one["status"]}, subresource="status"
        )
    await env.add(
        Topology.manifest("t", spec={"levels": levels}),
        kueue.ResourceFlavor.manifest("racks", spec={"nodeLabels": LABELS, "topologyName": "t"}),
        queue_manifest("racks", group(racks=quota(100)), **spec),
        local_queue_manifest("racks"),
    )
    await advance(1)


async def where(env, name):
    status = kueue.Workload.view(await env.workload(name)).status
    given = status.admission.pod_set_assignments[0].topology_assignment
    return {domain.values[-1]: domain.pods for domain in given.domains}


async def set_status(env, name, **fields):
    raw = await env.workload(name)
    body = applied(raw, {**raw["status"], **fields})
    await env.client.apply(kueue.Workload.resource, body, subresource="status", manager=kueue.ADMISSION_MANAGER)


async def test_an_admission_says_where_the_pods_are(env):
    await racks(env, node("a", "r1"), node("b", "r1"), node("c", "r2"))
    async with env.scheduling():
        await env.add(asking("w", 3))
        await advance(2)

    assert await env.told("w") == ADMITTED
    assert await where(env, "w") == {"a": 2, "b": 1}


async def test_who_waits_for_nodes_is_admitted_when_they_come(env):
    await racks(env, node("a", "r1"))
    async with env.scheduling():
        await env.add(asking("w", 3))
        await advance(2)
        raw = await env.workload("w")
        await env.client.create(Node.resource, node("b", "r1"))
        await env.client.merge(Node.resource, "b", "", {"status": node("b", "r1")["status"]}, subresource="status")
        await advance(3)

    (told,) = raw["status"]["conditions"]
    assert told["message"] == (
        'couldn\'t assign flavors to pod set main: topology "t" allows to fit only 2 out of 3 pod(s)'
    )
    assert await where(env, "w") == {"a": 2, "b": 1}


async def test_a_scheduler_that_starts_again_knows_who_is_where(env):
    await racks(env, node("a", "r1"), node("b", "r2"))
    async with env.scheduling():
        await env.add(asking("w", 2))
        await advance(2)

    async with env.scheduling():
        await advance(2)
        before = env.writes()
        await env.add(asking("x", 2))
        await advance(2)

        assert before == 0
        assert (await where(env, "w"), await where(env, "x")) == ({"a": 2}, {"b": 2})


async def test_pods_of_a_failed_node_are_placed_elsewhere(env):
    await racks(env, node("a", "r1"), node("b", "r1"), node("c", "r1"))
    async with env.scheduling():
        await env.add(asking("w", 3))
        await advance(2)
        await env.client.delete(Node.resource, "a")
        await set_status(env, "w", unhealthyNodes=[{"name": "a"}])
        await advance(3)

        raw = await env.workload("w")
        assert await env.told("w") == ADMITTED
        assert await where(env, "w") == {"b": 1, "c": 2}
        assert "unhealthyNodes" not in raw["status"]
        assert await env.events() == ["w Admitted", "w QuotaReserved"]
        before = env.writes()
        await advance(60)
        assert env.writes() == before


@pytest.mark.parametrize("refused", [0, 2])
async def test_who_has_no_other_node_is_evicted(env, refused):
    env.way.failures.append(Failure("apply workloads/*/w/status", errors.ServerError("no"), times=0))
    await racks(env, node("a", "r1"), node("b", "r1"), node("c", "r2"))
    async with env.scheduling():
        await env.add(asking("w", 4))
        await advance(2)
        await env.client.delete(Node.resource, "a")
        env.way.failures.append(Failure("apply workloads/*/w/status", errors.ServerError("no"), times=refused))
        await set_status(env, "w", unhealthyNodes=[{"name": "a"}])
        await advance(30)

    raw = await env.workload("w")
    (evicted,) = [one for one in raw["status"]["conditions"] if one["type"] == "Evicted"]
    assert (evicted["reason"], evicted["message"]) == (
        "NodeFailures",
        "Workload was evicted as there was no replacement for unhealthy node(s): a",
    )
    assert "unhealthyNodes" not in raw["status"]
    assert "w EvictedDueToNodeFailures" in await env.events()


async def test_a_delayed_topology_is_assigned_when_the_checks_are_ready(env):
    checks = {"admissionChecks": [{"name": "pr"}]}
    controller = {"controllerName": kueue.PROVISIONING_CONTROLLER}
    check = await env.client.create(kueue.AdmissionCheck.resource, kueue.AdmissionCheck.manifest("pr", spec=controller))
    active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
    active["lastTransitionTime"] = check["metadata"]["creationTimestamp"]
    body = {"status": {"conditions": [active]}}
    await env.client.merge(kueue.AdmissionCheck.resource, "pr", "", body, subresource="status")
    await racks(env, node("a", "r1", "1"), admissionChecksStrategy=checks)
    async with env.scheduling():
        await env.add(asking("w", 2))
        await advance(2)
        first = (await env.workload("w"))["status"]["admission"]["podSetAssignments"][0]
        raw = await env.workload("w")
        ready = {"name": "pr", "state": "Ready", "message": "", "lastTransitionTime": active["lastTransitionTime"]}
        status = admission_status.with_condition(
            raw["status"], "Admitted", "False", "PendingDelayedTopologyRequests", "m", 1, clock.now()
        )
        await set_status(env, "w", admissionChecks=[ready], conditions=status["conditions"])
        await advance(5)
        failed = [event for event in await env.events() if "SecondPass" in event]
        await env.client.create(Node.resource, node("b", "r1"))
        await env.client.merge(Node.resource, "b", "", {"status": node("b", "r1")["status"]}, subresource="status")
        await advance(40)

    last = (await env.workload("w"))["status"]["admission"]["podSetAssignments"][0]
    assert (first["delayedTopologyRequest"], "topologyAssignment" in first) == ("Pending", False)
    assert failed[:1] == ["w SecondPassFailed"]
    assert last["delayedTopologyRequest"] == "Ready"
    assert await where(env, "w") == {"b": 2}
    assert (await env.told("w"))["Admitted"] == "True Admitted"

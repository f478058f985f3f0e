"""Nodes register and say that they are alive; what somebody else wrote into them stays."""

import pytest

from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Node
from fleetqueue.embedded.nodes.settings import NodeSettings
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

GPU = "nvidia.com/gpu"
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


async def lease(env, name="node"):
    return await env.get(Lease, name, "kube-node-lease")


async def test_a_node_registers_with_what_it_has(env):
    settings = NodeSettings("node", capacity={"cpu": "2", GPU: "4"}, labels={"zone": "a"}, taints=[TAINT])

    async with env.running(env.leases(settings)):
        node = await env.get(Node, "node")
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node"
        assert node["metadata"]["labels"]["zone"] == "a"
        assert node["spec"]["podCIDR"] == "10.244.1.0/24"
        assert node["spec"]["taints"] == [TAINT]
        assert node["status"]["capacity"] == node["status"]["allocatable"] == {"cpu": "2", GPU: "4"}
        assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3"
        assert {one["type"]: one["status"] for one in node["status"]["conditions"]} == {
            "MemoryPressure": "False",
            "DiskPressure": "False",
            "PIDPressure": "False",
            "Ready": "True",
        }


async def test_a_lease_is_renewed_every_ten_seconds(env):
    async with env.running(env.leases()):
        found = await lease(env)
        assert found["spec"] == {
            "holderIdentity": "node",
            "leaseDurationSeconds": 40,
            "renewTime": "2026-01-01T00:00:00.000000Z",
        }
        assert found["metadata"]["ownerReferences"][0]["kind"] == "Node"
        env.writes.clear()
        await advance(60)

        assert env.writes == ["PATCH /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node"] * 6


@pytest.mark.checklist("B-2")
async def test_gpus_that_somebody_wrote_into_a_node_stay(env):
    async with env.running(env.leases()):
        node = (await env.get(Node, "node"))["status"]
        await env.set_status(
            Node, "node", capacity={**node["capacity"], GPU: "3"}, allocatable={**node["allocatable"], GPU: "3"}
        )
        await advance(3600)

        status = (await env.get(Node, "node"))["status"]
        assert (status["capacity"][GPU], status["allocatable"][GPU]) == ("3", "3")


@pytest.mark.checklist("B-2")
async def test_they_stay_over_a_restart_too(env):
    async with env.running(env.leases()):
        await env.set_status(Node, "node", capacity={GPU: "3"}, allocatable={GPU: "3"})
    env.__init__(env.door.server)

    async with env.running(env.leases()):
        await advance(600)

        assert (await env.get(Node, "node"))["status"]["capacity"][GPU] == "3"


async def test_a_node_says_now_and_then_that_it_is_well(env):
    async with env.running(env.leases()):
        env.writes.clear()
        await advance(290)
        assert "PATCH /api/v1/nodes/node/status" not in env.writes
        await advance(20)

        assert env.writes.count("PATCH /api/v1/nodes/node/status") == 1
        conditions = (await env.get(Node, "node"))["status"]["conditions"]
        assert {one["lastTransitionTime"] for one in conditions} == {"2026-01-01T00:00:00Z"}


async def test_conditions_of_others_stay_and_ours_come_back(env):
    async with env.running(env.leases()):
        other = {"type": "GpuHealthy", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await env.set_status(Node, "node", conditions=[other])

        conditions = (await env.get(Node, "node"))["status"]["conditions"]
        assert conditions[0]["type"] == "GpuHealthy"
        assert len(conditions) == 5


@pytest.mark.parametrize("all_nodes", [False, True])
async def test_a_node_that_somebody_made_is_played_if_wanted(env, all_nodes):
    await env.node("theirs", **{GPU: "4"})
    async with env.running(env.leases(all_nodes=all_nodes)):
        await advance(10)

        node = await env.get(Node, "theirs")
        assert (await lease(env, "theirs") is not None) == all_nodes
        assert any(one["type"] == "Ready" for one in node["status"].get("conditions") or ()) == all_nodes
        assert node["status"]["capacity"] == {"cpu": "4", "memory": "16Gi", "pods": "110", GPU: "4"}


async def test_what_nobody_said_of_such_a_node_is_not_made_up(env):
    await env.client.create(Node.resource, Node.manifest("bare"))
    async with env.running(env.leases(all_nodes=True)):
        await advance(10)

        assert "capacity" not in (await env.get(Node, "bare"))["status"]


async def test_a_node_whose_machine_is_off_says_nothing_until_it_is_on_again(env):
    async with env.running(env.leases()):
        await env.change(Node, "node", metadata={"annotations": {"fleetqueue.dev/silent": "true"}})
        await advance(10)
        env.writes.clear()
        await advance(3600)
        silent = list(env.writes)
        await env.change(Node, "node", metadata={"annotations": {"fleetqueue.dev/silent": None}})

        assert silent == []
        assert (await lease(env))["spec"]["renewTime"] == "2026-01-01T01:00:10.000000Z"


async def test_a_node_says_once_that_it_is_ready(env):
    async with env.running(env.leases()):
        await advance(3600)

        assert await env.events("NodeReady") == ["Node node status is now: NodeReady"]


async def test_a_deleted_node_stays_away(env):
    async with env.running(env.leases()):
        await env.delete(Node, "node")
        await advance(60)

        assert await env.get(Node, "node") is None


async def test_a_registration_that_fails_is_tried_again(env):
    env.fail_once("POST /api/v1/nodes")

    async with env.running(env.leases()):
        await advance(1)

        assert await env.get(Node, "node") is not None


async def test_a_second_look_writes_nothing(env):
    leases = env.leases()
    async with env.running(leases):
        env.writes.clear()
        leases.wake("node")
        await settle()

        assert env.writes == []


async def test_a_node_that_somebody_made_is_labelled_once_as_one_that_registers(env):
    rack = {"example.com/rack": "r1", "kubernetes.io/hostname": "elsewhere"}
    await env.client.create(Node.resource, Node.manifest("theirs", labels=rack))
    async with env.running(env.leases(all_nodes=True)):
        await advance(10)
        labels = (await env.get(Node, "theirs"))["metadata"]["labels"]
        await env.change(Node, "theirs", metadata={"labels": {"kubernetes.io/arch": None}})
        await advance(3600)

        assert labels == {
            "example.com/rack": "r1",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": "theirs",
            "kubernetes.io/os": "linux",
        }
        assert "kubernetes.io/arch" not in (await env.get(Node, "theirs"))["metadata"]["labels"]

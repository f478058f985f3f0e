"""Nodes that fall silent: what is said of them and of their pods, and which taints they get."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api import core_v1 as core
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Node
from fleetqueue.embedded.kubernetes.node_health import (
    NodeHealthController,
    last_heard,
    unknown_conditions,
    wanted_taints,
)
from fleetqueue.embedded.kubernetes.settings import KubernetesSettings
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HEALTH = {"NodeHealthController": {"settings": KubernetesSettings()}}
UNREACHABLE, NOT_READY = "node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"


def a_node(ready=None, *, beat=None, unschedulable=False, **conditions):
    said = [{"type": kind, "status": status} for kind, status in conditions.items()]
    if ready is not None:
        said.append({"type": "Ready", "status": ready, **({"lastHeartbeatTime": timestamp(beat)} if beat else {})})
    return Node.view(
        {
            "metadata": {"name": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"unschedulable": unschedulable},
            "status": {"conditions": said},
        }
    )


def a_lease(renewed):
    return Lease.view({"metadata": {"name": "n"}, "spec": {"renewTime": timestamp(renewed)}})


@pytest.mark.parametrize(
    ("node", "lease", "hour"),
    [
        pytest.param(a_node(), None, 0, id="never: when it was made"),
        pytest.param(a_node("True", beat=NOW), None, 12, id="by its status"),
        pytest.param(a_node("True", beat=NOW), a_lease(NOW + timedelta(hours=1)), 13, id="by its lease"),
        pytest.param(a_node("True", beat=NOW), a_lease(NOW - timedelta(hours=1)), 12, id="the later of both"),
    ],
)
def test_last_heard(node, lease, hour):
    assert last_heard(node, lease) == datetime(2026, 1, 1, hour, tzinfo=UTC)


def test_what_a_silent_node_said_is_unknown_and_what_others_say_stays():
    live = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "x"}, {"type": "GpuHealthy", "status": "True"}]

    found = {one["type"]: one for one in unknown_conditions(a_node("True"), live, NOW)}

    assert list(found) == ["Ready", "GpuHealthy", "MemoryPressure", "DiskPressure", "PIDPressure"]
    assert found["GpuHealthy"]["status"] == "True"
    assert found["Ready"] == {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastHeartbeatTime": "x",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }
    assert found["DiskPressure"]["reason"] == "NodeStatusNeverUpdated"


@pytest.mark.parametrize(
    ("node", "may_evict", "taints"),
    [
        pytest.param(a_node("True"), True, [], id="well"),
        pytest.param(a_node("False"), True, [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")], id="not ready"),
        pytest.param(a_node("Unknown"), True, [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")], id="silent"),
        pytest.param(a_node("Unknown"), False, [(UNREACHABLE, "NoSchedule")], id="all are silent"),
        pytest.param(
            a_node("True", DiskPressure="True"), True, [("node.kubernetes.io/disk-pressure", "NoSchedule")], id="full"
        ),
        pytest.param(
            a_node("True", unschedulable=True),
            True,
            [("node.kubernetes.io/unschedulable", "NoSchedule")],
            id="cordoned",
        ),
    ],
)
def test_wanted_taints(node, may_evict, taints):
    found = wanted_taints(node, [], may_evict=may_evict, now=NOW)

    assert [(taint["key"], taint["effect"]) for taint in found] == taints
    assert all(taint["timeAdded"] == "2026-01-01T12:00:00Z" for taint in found)


def test_taints_of_others_stay_and_ours_keep_their_time():
    theirs = {"key": "gpu", "effect": "NoSchedule"}
    ours = {"key": UNREACHABLE, "effect": "NoSchedule", "timeAdded": "2025-01-01T00:00:00Z"}
    stale = {"key": NOT_READY, "effect": "NoExecute", "timeAdded": "2025-01-01T00:00:00Z"}

    found = wanted_taints(a_node("Unknown"), [theirs, ours, stale], may_evict=False, now=NOW)

    assert found == [theirs, ours]


async def add_node(env, name, *, ready="True"):
    now = timestamp(clock.now())
    said = {"type": "Ready", "status": ready, "lastHeartbeatTime": now, "lastTransitionTime": now}
    await env.add(core.Node, name, status={"conditions": [said]} if ready else None)


async def renew(env, name):
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": f"{clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"}
    if await env.get(Lease, name, "kube-node-lease") is None:
        await env.add(Lease, name, "kube-node-lease", spec=spec)
    else:
        await env.change(Lease, name, "kube-node-lease", spec=spec)


async def live_for(env, seconds, *names):
    """Let time pass in which these nodes renew their leases."""
    for _ in range(seconds // 10):
        for name in names:
            await renew(env, name)
        await advance(10)


async def ready(env, name):
    conditions = (await env.get(core.Node, name))["status"].get("conditions") or ()
    return next((one["status"] for one in conditions if one["type"] == "Ready"), None)


async def taints(env, name):
    return [(one["key"], one["effect"]) for one in (await env.get(core.Node, name))["spec"].get("taints") or ()]


async def add_pod(env, name, node):
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "x"}]}
    await env.add(core.Pod, name, spec=spec)
    await env.run_pod(name)


async def test_a_node_that_renews_its_lease_stays_well(env):
    await add_node(env, "a")
    async with env.running(NodeHealthController, **HEALTH):
        await live_for(env, 300, "a")

        assert (await ready(env, "a"), await taints(env, "a")) == ("True", [])
        assert await env.events("RegisteredNode") == ["Node a event: Registered Node a in Controller"]


async def test_a_silent_node_is_given_up_after_fifty_seconds(env):
    await add_node(env, "a")
    await add_node(env, "b")
    await add_pod(env, "on-b", "b")
    async with env.running(NodeHealthController, **HEALTH):
        await live_for(env, 50, "a", "b")
        await live_for(env, 30, "a")
        before = await ready(env, "b")
        await live_for(env, 30, "a")

        assert (before, await ready(env, "b")) == ("True", "Unknown")
        assert await taints(env, "b") == [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]
        assert await taints(env, "a") == []
        assert await env.events("NodeNotReady") == [
            "Node b status is now: NodeNotReady",
            "Node is not ready",
        ]
        (condition,) = (await env.get(core.Pod, "on-b"))["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("Ready", "False")


async def test_a_node_that_never_said_anything_has_a_minute(env):
    await add_node(env, "a")
    await add_node(env, "mute", ready=None)
    async with env.running(NodeHealthController, **HEALTH):
        await live_for(env, 50, "a")
        before = await ready(env, "mute")
        await live_for(env, 20, "a")

        assert (before, await ready(env, "mute")) == (None, "Unknown")


async def test_a_node_that_comes_back_loses_its_taints(env):
    await add_node(env, "a")
    await add_node(env, "b")
    async with env.running(NodeHealthController, **HEALTH):
        await live_for(env, 120, "a")
        said = {"type": "Ready", "status": "True", "lastHeartbeatTime": timestamp(clock.now())}
        await env.set_status(core.Node, "b", conditions=[{**said, "lastTransitionTime": timestamp(clock.now())}])
        await live_for(env, 60, "a", "b")

        assert (await ready(env, "b"), await taints(env, "b")) == ("True", [])


async def test_where_all_are_silent_no_pod_has_to_leave(env):
    await add_node(env, "a")
    await add_node(env, "b")
    async with env.running(NodeHealthController, **HEALTH):
        await live_for(env, 60, "a")
        some = await taints(env, "b")
        await advance(120)

        assert (UNREACHABLE, "NoExecute") in some
        assert await taints(env, "a") == await taints(env, "b") == [(UNREACHABLE, "NoSchedule")]


async def test_a_write_that_fails_is_made_later(env):
    await add_node(env, "a")
    async with env.running(NodeHealthController, **HEALTH):
        env.fail_once("/nodes/a/status")
        await advance(60)

        assert await ready(env, "a") == "Unknown"


async def test_it_is_quiet_while_nothing_happens(env):
    await add_node(env, "a")
    async with env.running(NodeHealthController, **HEALTH) as (health,):
        await advance(120)
        env.writes.clear()
        health.wake("a")
        await settle()

        assert env.writes == []

"""Whether a Workload can stay on a node, and which of its pods wait there in vain."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.taints import Toleration
from fleetqueue.embedded.kueue.topology_pods.node_health import (
    PodsOfNode,
    ReplacementGates,
    assigned_nodes,
    health,
    nodes_of_pod,
    time_left,
)

from .objects import HOST, admitted_manifest, placed, pod

DEFAULT = ReplacementGates()
AT_ONCE = ReplacementGates(on_pod_termination=False)
NO_TAINTS = ReplacementGates(on_taints=False)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TAINT = {"key": "k", "effect": "NoSchedule"}


def node(name="n1", *, ready="True", taints=(), since=NOON):
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": timestamp(since)}
    return Node.view(Node.manifest(name, spec={"taints": [*taints]}, status={"conditions": [condition]}))


def on(name, *, phase="Running", deleting=False):
    raw = pod(name, on="n1", phase=phase)
    raw["spec"]["nodeName"] = "n1"
    if deleting:
        raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return raw


def workload(*domains):
    return kueue.QueuedWorkload.view(admitted_manifest(placed(*(domains or (("n1", 1), ("n2", 1))))))


def tolerating(*seconds):
    return [[Toleration(key="k", operator="Exists", toleration_seconds=each)] for each in seconds]


@pytest.mark.parametrize(
    ("seen", "running", "tolerations", "gates", "is_lost"),
    [
        pytest.param(node(), [], [], DEFAULT, False, id="all is well"),
        pytest.param(node(ready="Unknown"), [], [], DEFAULT, True, id="not ready, and nobody runs there"),
        pytest.param(node(ready="False"), [on("a")], [], DEFAULT, False, id="not ready, and a pod may go on"),
        pytest.param(node(ready="False"), [on("a", deleting=True)], [], DEFAULT, True, id="not ready, its pod goes"),
        pytest.param(node(ready="False"), [on("a", phase="Failed")], [], DEFAULT, True, id="not ready, its pod failed"),
        pytest.param(node(ready="False"), [on("a")], [], AT_ONCE, True, id="not ready, and pods are not waited for"),
        pytest.param(node(taints=[TAINT]), [], [[]], DEFAULT, True, id="a taint keeps its pods out"),
        pytest.param(node(taints=[TAINT]), [on("a")], [[]], DEFAULT, False, id="a taint, and a pod that goes on"),
        pytest.param(node(taints=[TAINT]), [on("a")], [[]], AT_ONCE, True, id="a taint, and nobody is waited for"),
        pytest.param(node(taints=[TAINT]), [], [[]], NO_TAINTS, False, id="taints are no reason"),
        pytest.param(
            node(taints=[{"key": "k", "effect": "PreferNoSchedule"}]),
            [],
            [[]],
            DEFAULT,
            False,
            id="it only discourages",
        ),
        pytest.param(node(taints=[TAINT]), [], tolerating(None, None), DEFAULT, False, id="tolerated for ever"),
        pytest.param(node(taints=[TAINT]), [], tolerating(None, 30), DEFAULT, True, id="one set tolerates it a while"),
        pytest.param(node(taints=[TAINT]), [on("a")], tolerating(30), DEFAULT, False, id="and a pod goes on meanwhile"),
        pytest.param(node(taints=[TAINT]), [on("a")], tolerating(30), AT_ONCE, False, id="that pod is waited for"),
        pytest.param(node("n3", ready="False"), [], [], DEFAULT, False, id="a node that it has not"),
    ],
)
def test_when_a_node_is_lost(seen, running, tolerations, gates, is_lost):
    assert health(workload(), seen, PodsOfNode(running, []), tolerations, gates).is_lost is is_lost


@pytest.mark.parametrize(
    ("seen", "names"),
    [
        pytest.param(node(), [], id="pods wait for a good node"),
        pytest.param(node(ready="False"), ["a"], id="pods wait for a node that failed"),
        pytest.param(node("n3"), ["a"], id="pods wait for a node that others take the place of"),
    ],
)
def test_which_pods_wait_in_vain(seen, names):
    told = [pod("a", on="n1"), pod("gated"), pod("over", on="n1", phase="Failed"), on("there", phase="Pending")]

    found = health(workload(), seen, PodsOfNode([], told), [], DEFAULT).stranded

    assert [each["metadata"]["name"] for each in found] == names


def test_the_nodes_of_a_workload_are_those_of_its_pods():
    racks = kueue.QueuedWorkload.view(admitted_manifest(placed(("r1", 2), levels=("rack",))))

    assert assigned_nodes(workload()) == {"n1", "n2"}
    assert assigned_nodes(racks) == set()


@pytest.mark.parametrize(
    ("raw", "nodes"),
    [
        pytest.param(pod("a", on="n1"), ["n1"], id="one that waits for its node"),
        pytest.param(pod("a"), [], id="one that nobody told where to go"),
        pytest.param(on("a"), [], id="one that runs"),
        pytest.param(on("a", phase="Succeeded"), ["n1"], id="one that has ended"),
        pytest.param(on("a", deleting=True), ["n1"], id="one that is deleted"),
    ],
)
def test_which_node_a_pod_makes_us_look_at(raw, nodes):
    assert [*nodes_of_pod(Pod.view(raw))] == nodes


def test_pods_that_are_not_placed_by_topology_are_not_looked_at():
    raw = pod("a", on="n1")
    raw["metadata"]["annotations"] = {}

    assert [*nodes_of_pod(Pod.view(raw))] == []
    assert raw["spec"]["nodeSelector"] == {HOST: "n1"}


def test_a_node_is_given_half_a_minute_where_a_time_decides():
    assert time_left(node(ready="False"), NOON + timedelta(seconds=10)) == timedelta(seconds=20)

"""Where a pod fits, and why it does not: every branch is a row."""

from decimal import Decimal

import pytest

from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.embedded.nodes.fitting import NodeRefusal, explain, load, needs_of, refusal

GPU = "nvidia.com/gpu"
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def a_pod(requests=None, **spec):
    container = {"name": "main", "resources": {"requests": requests or {}}}
    return Pod.view({"metadata": {"name": "pod"}, "spec": {"containers": [container], **spec}})


def a_node(labels=None, unschedulable=False, taints=(), **allocatable):
    room = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    spec = {"unschedulable": unschedulable, "taints": list(taints)}
    return Node.view(
        {"metadata": {"name": "n1", "labels": labels or {}}, "spec": spec, "status": {"allocatable": room}}
    )


def affinity(*terms):
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeAffinity": required}


def by(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


NOT_CHOSEN = ["node(s) didn't match Pod's node affinity/selector"]
TAINTED = ["node(s) had untolerated taint(s)"]


@pytest.mark.parametrize(
    ("pod", "node", "why"),
    [
        pytest.param(a_pod(), a_node(), [], id="a pod that asks for nothing"),
        pytest.param(a_pod({"cpu": "4"}), a_node(), [], id="all of it"),
        pytest.param(a_pod({"cpu": "4100m"}), a_node(), ["Insufficient cpu"], id="more than there is"),
        pytest.param(
            a_pod({"cpu": "5", "memory": "9Gi"}),
            a_node(),
            ["Insufficient cpu", "Insufficient memory"],
            id="more of both",
        ),
        pytest.param(a_pod({GPU: "1"}), a_node(), [f"Insufficient {GPU}"], id="what the node does not have"),
        pytest.param(a_pod({GPU: "1"}), a_node(**{GPU: "1"}), [], id="a GPU"),
        pytest.param(a_pod(), a_node(pods="0"), ["Too many pods"], id="no place left"),
        pytest.param(a_pod(), a_node(unschedulable=True), ["node(s) were unschedulable"], id="cordoned"),
        pytest.param(
            a_pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
            a_node(unschedulable=True),
            [],
            id="cordoned, but it does not mind",
        ),
        pytest.param(a_pod(), a_node(taints=[TAINT]), TAINTED, id="tainted"),
        pytest.param(
            a_pod(), a_node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), [], id="rather not is not never"
        ),
        pytest.param(
            a_pod(tolerations=[{"key": "gpu", "value": "yes"}]), a_node(taints=[TAINT]), [], id="tolerated by value"
        ),
        pytest.param(
            a_pod(tolerations=[{"key": "gpu", "value": "no"}]), a_node(taints=[TAINT]), TAINTED, id="another value"
        ),
        pytest.param(
            a_pod(tolerations=[{"operator": "Exists"}]), a_node(taints=[TAINT]), [], id="tolerates everything"
        ),
        pytest.param(
            a_pod(tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]),
            a_node(taints=[TAINT]),
            TAINTED,
            id="another effect",
        ),
        pytest.param(a_pod(nodeSelector={"zone": "a"}), a_node({"zone": "a"}), [], id="its label"),
        pytest.param(a_pod(nodeSelector={"zone": "a"}), a_node({"zone": "b"}), NOT_CHOSEN, id="another label"),
        pytest.param(
            a_pod(affinity=affinity(by("zone", "In", "a", "b"))), a_node({"zone": "b"}), [], id="one of several"
        ),
        pytest.param(
            a_pod(affinity=affinity(by("zone", "In", "a"), by("big", "Exists"))), a_node({"big": ""}), [], id="any term"
        ),
        pytest.param(
            a_pod(affinity=affinity(by("zone", "NotIn", "a"))), a_node({"zone": "a"}), NOT_CHOSEN, id="not there"
        ),
        pytest.param(a_pod(affinity=affinity(by("gpus", "Gt", "3"))), a_node({"gpus": "4"}), [], id="more than"),
        pytest.param(
            a_pod(affinity=affinity(by("gpus", "Lt", "3"))), a_node({"gpus": "4"}), NOT_CHOSEN, id="less than"
        ),
        pytest.param(a_pod(affinity=affinity({})), a_node(), NOT_CHOSEN, id="an empty term chooses nothing"),
        pytest.param(
            a_pod(affinity=affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]})),
            a_node(),
            [],
            id="by name",
        ),
        pytest.param(
            a_pod(affinity=affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]})),
            a_node(),
            ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
            id="by another name",
        ),
    ],
)
def test_refusals(pod, node, why):
    found = refusal(pod, needs_of(pod), node, {})

    assert (found.reasons if found is not None else []) == why


def test_what_others_use_is_not_free():
    pod, used = a_pod({"cpu": "2"}), {"cpu": Decimal(3)}

    found = refusal(pod, needs_of(pod), a_node(), used)

    assert (found.reasons, found.is_taken) == (["Insufficient cpu"], True)


def test_what_a_node_does_not_have_is_not_taken():
    pod = a_pod({"cpu": "2", "memory": "9Gi"})

    found = refusal(pod, needs_of(pod), a_node(), {"cpu": Decimal(3)})

    assert (found.reasons, found.is_taken) == (["Insufficient cpu", "Insufficient memory"], False)


def test_init_containers_and_sidecars_count_as_kubernetes_counts_them():
    init = [
        {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        {"name": "first", "resources": {"requests": {"cpu": "3"}}},
    ]

    needs = needs_of(a_pod({"cpu": "2"}, initContainers=init, overhead={"cpu": "500m"}))

    assert needs == {"cpu": Decimal("4.5"), "pods": 1}


def test_a_limit_alone_is_asked_for_too():
    container = {"name": "main", "resources": {"limits": {GPU: "2"}}}
    pod = Pod.view({"metadata": {"name": "pod"}, "spec": {"containers": [container]}})

    assert needs_of(pod)[GPU] == 2


def test_the_load_is_over_what_is_asked_for():
    room = {"cpu": Decimal(4), "memory": Decimal(8), GPU: Decimal(2)}

    assert load({"cpu": Decimal(2), GPU: Decimal(1)}, room, {GPU: Decimal(1)}) == Decimal("0.5")


TAKEN = NodeRefusal(["Insufficient cpu"], is_taken=True)
SMALL = NodeRefusal(["Insufficient cpu", "Insufficient memory"])


@pytest.mark.parametrize(
    ("refusals", "text"),
    [
        pytest.param([], "no nodes available to schedule pods", id="no nodes"),
        pytest.param(
            [TAKEN] * 3,
            "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: "
            "0/3 nodes are available: 3 No preemption victims found for incoming pod.",
            id="all alike",
        ),
        pytest.param(
            [SMALL, TAKEN],
            "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu. no new claims to deallocate, "
            "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
            "1 Preemption is not helpful for scheduling.",
            id="each for its own reason",
        ),
    ],
)
def test_explain(refusals, text):
    assert explain(refusals) == text


def test_a_pod_that_never_preempts_is_told_so():
    told = explain([TAKEN], preempts=False)

    assert told.endswith("no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.")

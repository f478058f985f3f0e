"""What pods take from their nodes is counted as Kubernetes counts it, also when it is counted change by change."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.quantity import Quantity, parse
from fleetqueue.api.usage_scores import CPU, GPU, MEMORY, TPU, ScoreScale, loss
from fleetqueue.controllers.usage_scores.usage import (
    ClusterUsage,
    ScoredNode,
    ScoredPod,
    capacity,
    counted_fields,
    lowest,
    normalised,
    scores,
    usage,
)

Requests = dict[str, Quantity]

ORDER = [
    "cpuNodeAvailable",
    "cpuClusterAvailable",
    "memNodeAvailable",
    "memClusterAvailable",
    "gpuNodeAvailable",
    "gpuClusterAvailable",
    "tpuNodeAvailable",
    "tpuClusterAvailable",
    "cpuAvailable",
    "memAvailable",
]


def container(requests: Requests, *, sidecar: bool = False) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests}, **({"restartPolicy": "Always"} if sidecar else {})}


def pod(
    *apps: Requests,
    name: str = "p",
    node: str = "n1",
    phase: str = "Running",
    init: tuple[dict[str, Any], ...] = (),
    deleting: bool = False,
    **spec: Any,
) -> Pod:
    metadata = {"name": name, "namespace": "default"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec |= {"nodeName": node, "containers": [container(app) for app in apps], "initContainers": list(init)}
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}
    return Pod.view(counted_fields(raw))


def scored(counted: Pod | None) -> ScoredPod | None:
    return ScoredPod.of(counted) if counted is not None else None


def node(name: str = "n1", *, ready: str = "True", unschedulable: bool = False, **allocatable: str | int) -> Node:
    resources = {GPU if resource == "gpu" else resource: amount for resource, amount in allocatable.items()}
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    raw = Node.manifest(
        name, spec={"unschedulable": unschedulable}, status={"allocatable": resources, "conditions": conditions}
    )
    return Node.view(ScoredNode.trim(raw))


@pytest.mark.parametrize(
    ("counted", "cpu"),
    [
        pytest.param(pod({CPU: 1}, {CPU: "500m"}), "1.5", id="app containers add up"),
        pytest.param(pod({CPU: 1}, init=(container({CPU: 3}),)), "3", id="a larger init container counts alone"),
        pytest.param(pod({CPU: 4}, init=(container({CPU: 3}),)), "4", id="a smaller init container does not count"),
        pytest.param(
            pod({CPU: 1}, init=(container({CPU: 2}, sidecar=True),)), "3", id="a sidecar runs beside the apps"
        ),
        pytest.param(
            pod({CPU: 1}, init=(container({CPU: 2}, sidecar=True), container({CPU: 3}))),
            "5",
            id="an init container counts with the sidecars before it",
        ),
        pytest.param(
            pod({CPU: 1}, init=(container({CPU: 3}), container({CPU: 2}, sidecar=True))),
            "3",
            id="and not with those after it",
        ),
        pytest.param(pod({CPU: 1}, overhead={CPU: "250m"}), "1.25", id="the sandbox costs too"),
        pytest.param(
            pod({CPU: 1}, resources={"requests": {CPU: 2}}, overhead={CPU: 1}),
            "3",
            id="a request of the whole pod replaces the sum",
        ),
        pytest.param(pod({}), "0", id="nothing is asked for"),
    ],
)
def test_a_pod_asks_for(counted: Pod, cpu: str) -> None:
    assert counted.spec.requests().get(CPU, Decimal(0)) == Decimal(cpu)


@pytest.mark.parametrize(
    "unseen",
    [
        pytest.param(pod({CPU: 1}, node=""), id="not scheduled"),
        pytest.param(pod({CPU: 1}, phase="Succeeded"), id="succeeded"),
        pytest.param(pod({CPU: 1}, phase="Failed"), id="failed"),
        pytest.param(pod({CPU: 1}, deleting=True), id="being deleted"),
    ],
)
def test_a_pod_takes_nothing_when_it_does_not_run(unseen: Pod | None) -> None:
    assert usage(unseen) == ("", {})


def test_only_what_is_scored_is_counted() -> None:
    counted = pod({CPU: 1, GPU: 2, "ephemeral-storage": "1Gi", "amd.com/gpu": 1}, phase="Pending")

    assert usage(counted) == ("n1", {CPU: Decimal(1), GPU: Decimal(2)})


@pytest.mark.parametrize(
    ("counted", "cores"),
    [
        pytest.param(node(cpu=8), "8", id="ready"),
        pytest.param(node(cpu=8, ready=""), "8", id="without a Ready condition"),
        pytest.param(node(cpu=8, ready="False"), "0", id="not ready"),
        pytest.param(node(cpu=8, ready="Unknown"), "0", id="lost"),
        pytest.param(node(cpu=8, unschedulable=True), "0", id="cordoned"),
    ],
)
def test_a_node_offers_what_it_has_while_it_takes_pods(counted: Node, cores: str) -> None:
    assert capacity(counted).get(CPU, Decimal(0)) == Decimal(cores)


def test_a_tainted_node_counts() -> None:
    raw = Node.manifest(
        "n1", spec={"taints": [{"key": GPU, "effect": "NoSchedule"}]}, status={"allocatable": {GPU: "3"}}
    )

    assert capacity(Node.view(raw)) == {GPU: Decimal(3)}


def test_a_pod_leaves_the_rest_free() -> None:
    cluster_usage = ClusterUsage()

    cluster_usage.change_pod(None, scored(pod({GPU: 1, CPU: "950m"})))
    cluster_usage.change_node(None, node(gpu=3, cpu=8))

    assert list(cluster_usage.free()) == [{GPU: Decimal(2), CPU: Decimal("7.05")}]


def test_a_node_that_holds_more_than_it_has_takes_nothing_from_the_others() -> None:
    cluster_usage = ClusterUsage()
    cluster_usage.change_node(None, node("n1", gpu=1))
    cluster_usage.change_node(None, node("n2", gpu=3))

    cluster_usage.change_pod(None, scored(pod({GPU: 4}, node="n1")))

    assert list(cluster_usage.free()) == [{GPU: Decimal(0)}, {GPU: Decimal(3)}]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        pytest.param(None, pod({CPU: 1}), True, id="came"),
        pytest.param(pod({CPU: 1}), None, True, id="went"),
        pytest.param(pod({CPU: 1}, node=""), pod({CPU: 1}), True, id="was scheduled"),
        pytest.param(pod({CPU: 1}), pod({CPU: 1}, phase="Succeeded"), True, id="finished"),
        pytest.param(pod({CPU: 1}), pod({CPU: 2}), True, id="was resized"),
        pytest.param(pod({CPU: 1}, phase="Pending"), pod({CPU: 1}), False, id="began to run where it was scheduled"),
        pytest.param(None, pod({}), False, id="came, and asks for nothing"),
        pytest.param(None, pod({CPU: 1}, node=""), False, id="waits to be scheduled"),
    ],
)
def test_a_ledger_says_whether_a_pod_changed_anything(old: Pod | None, new: Pod | None, changed: bool) -> None:
    cluster_usage = ClusterUsage()
    cluster_usage.change_pod(None, scored(old))

    assert cluster_usage.change_pod(scored(old), scored(new)) is changed


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        pytest.param(None, node(cpu=8), True, id="came"),
        pytest.param(node(cpu=8), None, True, id="went"),
        pytest.param(node(cpu=8), node(cpu=8, gpu=3), True, id="got GPUs"),
        pytest.param(node(cpu=8), node(cpu=8, unschedulable=True), True, id="was cordoned"),
        pytest.param(node(cpu=8), node(cpu=8, ready="Unknown"), True, id="was lost"),
        pytest.param(node(cpu=8), node(cpu="8000m"), False, id="says the same in other words"),
    ],
)
def test_a_ledger_says_whether_a_node_changed_anything(old: Node | None, new: Node | None, changed: bool) -> None:
    cluster_usage = ClusterUsage()
    cluster_usage.change_node(None, old)

    assert cluster_usage.change_node(old, new) is changed


def test_trimmed_objects_read_the_same() -> None:
    raw = Pod.manifest(
        "p",
        "default",
        spec={
            "nodeName": "n1",
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {CPU: "1"}, "limits": {CPU: "1"}}}],
            "initContainers": None,
        },
        status={"phase": "Running", "podIP": "10.0.0.1"},
    )

    trimmed = counted_fields(raw)

    assert ScoredPod.of(Pod.view(trimmed)) == ScoredPod.of(Pod.view(raw))
    assert trimmed["spec"].keys() == {"nodeName", "containers", "initContainers"}
    assert trimmed["status"] == {"phase": "Running"}
    assert counted_fields(Pod.manifest("empty", "default"))["spec"] == {}
    assert ScoredNode.trim(Node.manifest("n", status={"images": [{"names": ["i"]}]}))["status"] == {}


def test_of_a_pod_only_what_it_takes_is_kept_and_shared() -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {CPU: "1"}, "limits": {CPU: "1"}}}
    spec = {"nodeName": "n1", "containers": [container, container]}
    one, other = (
        ScoredPod.kept(Pod.manifest(name, "default", labels={"a": "b"}, spec=spec, status={"phase": "Running"}))
        for name in ("one", "other")
    )

    assert (one.key, one.node, one.takes) == ("default/one", "n1", {CPU: Decimal(2)})
    assert one.metadata.labels == {}
    assert one.takes is other.takes


# The slow and obvious way: what is set aside at each moment of a pod's life, and then the largest of it.


def moments(counted: Pod) -> list[list[Requests]]:
    """List which containers live at once: while each init container starts, and when all apps run."""
    sidecars: list[Requests] = []
    lived = []
    for init in counted.spec.init_containers:
        lived.append([*sidecars, init.resources.requests])
        if init.restart_policy == "Always":
            sidecars.append(init.resources.requests)
    lived.append([*sidecars, *(app.resources.requests for app in counted.spec.containers)])
    return lived


def slow_requests(counted: Pod, resource: str) -> int:
    peak = max(sum(int(requests.get(resource, 0)) for requests in alive) for alive in moments(counted))
    whole = int(counted.spec.resources.requests.get(resource, peak))
    return whole + int(counted.spec.overhead.get(resource, 0))


asked = st.dictionaries(st.sampled_from([CPU, MEMORY, GPU]), st.integers(0, 9), max_size=3)
pods = st.builds(
    lambda apps, init, overhead, whole, node, phase: pod(
        *apps,
        init=tuple(container(requests, sidecar=sidecar) for requests, sidecar in init),
        overhead=overhead,
        resources={"requests": {name: value for name, value in whole.items() if name != GPU}},
        node=node,
        phase=phase,
    ),
    apps=st.lists(asked, max_size=3),
    init=st.lists(st.tuples(asked, st.booleans()), max_size=4),
    overhead=asked,
    whole=st.one_of(st.just({}), asked),
    node=st.sampled_from(["", "n1", "n2"]),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
)


@given(pods)
def test_a_pod_asks_for_its_most_demanding_moment(counted: Pod) -> None:
    requested = counted.spec.requests()

    for resource in (CPU, MEMORY, GPU):
        assert requested.get(resource, 0) == slow_requests(counted, resource)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.none(), pods)), max_size=20))
def test_counting_change_by_change_is_counting_anew(changes: list[tuple[str, Pod | None]]) -> None:
    cluster_usage, anew = ClusterUsage(), ClusterUsage()
    live: dict[str, Pod | None] = {}

    for name, new in changes:
        cluster_usage.change_pod(scored(live.get(name)), scored(new))
        live[name] = new
    for left in live.values():
        anew.change_pod(None, scored(left))

    assert cluster_usage._used == anew._used


CONTAINER = {
    "name": "main",
    "image": "x",
    "resources": {"requests": {"cpu": "1"}},
    "env": [{"name": "A", "value": "1"}],
}


def test_of_a_pod_only_what_is_read_is_kept():
    spec = {
        "nodeName": "n1",
        "overhead": {"cpu": "10m"},
        "containers": [CONTAINER],
        "initContainers": [{**CONTAINER, "restartPolicy": "Always"}],
        "volumes": [{"name": "big"}],
    }
    raw = Pod.manifest("p", "ns", spec=spec, status={"phase": "Running", "podIP": "10.0.0.1"})

    trimmed = counted_fields(raw)

    kept = {"resources": {"requests": {"cpu": "1"}}}
    assert trimmed["spec"] == {
        "nodeName": "n1",
        "overhead": {"cpu": "10m"},
        "containers": [kept],
        "initContainers": [{**kept, "restartPolicy": "Always"}],
    }
    assert trimmed["status"] == {"phase": "Running"}
    assert raw["spec"] is spec


def test_a_trimmed_pod_reads_as_the_whole_one():
    raw = Pod.manifest("p", "ns", spec={"nodeName": "n1", "containers": [CONTAINER], "initContainers": None})

    assert ScoredPod.kept(raw) == ScoredPod.of(Pod.view(raw))


def test_a_pod_without_anything_can_be_trimmed():
    assert Pod.view(counted_fields(Pod.manifest("p", "ns", spec=None))).spec.containers == ()


def test_of_a_node_only_what_is_read_is_kept():
    status = {
        "allocatable": {"cpu": "8"},
        "images": [{"names": ["x"]}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    raw = Node.manifest(
        "n", spec={"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"}, status=status
    )

    trimmed = ScoredNode.trim(raw)

    assert trimmed["spec"] == {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    assert trimmed["status"].keys() == {"allocatable", "conditions"}
    assert Node.view(trimmed) == Node.view(raw)


@pytest.mark.parametrize(
    ("resource", "free", "score"),
    [
        pytest.param(GPU, "0", -100, id="no GPU"),
        pytest.param(GPU, "3", -70, id="3 GPUs, none used"),
        pytest.param(GPU, "2", -80, id="3 GPUs, one used"),
        pytest.param(GPU, "10", 0, id="half of the scale"),
        pytest.param(GPU, "20", 100, id="all of the scale"),
        pytest.param(GPU, "21", 100, id="more than the scale"),
        pytest.param(TPU, "1", -90, id="1 TPU"),
        pytest.param(CPU, "40", -20, id="40 cores"),
        pytest.param(CPU, "-10", -100, id="less than nothing"),
        pytest.param(CPU, "7050m", -85, id="rounded toward zero, below zero"),
        pytest.param(CPU, "50950m", 1, id="rounded toward zero, above zero"),
        pytest.param(MEMORY, "8027168Ki", -98, id="memory in MiB, where upstream counts bytes and says 100"),
        pytest.param(MEMORY, "524Gi", 2, id="524 GiB, where upstream says 100"),
        pytest.param(MEMORY, "1Ti", 100, id="1 TiB"),
    ],
)
def test_an_amount_has_a_score(resource: str, free: str, score: int) -> None:
    assert normalised(parse(free), ScoreScale().full(resource)) == score


@pytest.mark.checklist("S3-7")
def test_the_order_of_the_scores_is_a_contract() -> None:
    assert list(scores([], ScoreScale())) == ORDER
    assert list(lowest()) == ORDER
    assert ORDER[5] == "gpuClusterAvailable"


def test_a_cluster_without_nodes_has_the_lowest_scores() -> None:
    assert scores([], ScoreScale()) == lowest()
    assert set(lowest().values()) == {-100}


def test_the_cluster_counts_all_nodes_and_the_node_score_the_best_one() -> None:
    values = scores([{GPU: Decimal(6)}, {GPU: Decimal(6), CPU: Decimal(40)}], ScoreScale())

    assert (values["gpuClusterAvailable"], values["gpuNodeAvailable"]) == (20, -40)
    assert (values["cpuClusterAvailable"], values["cpuNodeAvailable"]) == (-20, -20)


def test_the_first_names_repeat_the_scores_of_the_cluster() -> None:
    values = scores([{CPU: Decimal(30), MEMORY: parse("300Gi")}, {CPU: Decimal(50)}], ScoreScale())

    assert values["cpuAvailable"] == values["cpuClusterAvailable"] == 60
    assert values["memAvailable"] == values["memClusterAvailable"] == -41


def test_a_larger_scale_tells_large_clusters_apart() -> None:
    free = [{GPU: Decimal(200)}]

    assert scores(free, ScoreScale())["gpuClusterAvailable"] == 100
    assert scores(free, ScoreScale(gpu=400))["gpuClusterAvailable"] == 0


@pytest.mark.parametrize("field", ["cpu", "memory", "gpu", "tpu"])
def test_a_scale_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match="above 0"):
        ScoreScale(**{field: 0})


@pytest.mark.parametrize(
    ("score", "amounts", "points"),
    [
        pytest.param("gpuClusterAvailable", {GPU: "1"}, 10.0, id="a GPU is ten points"),
        pytest.param("gpuNodeAvailable", {GPU: "2", CPU: "4"}, 20.0, id="only its own resource counts"),
        pytest.param("cpuClusterAvailable", {CPU: "100m"}, 0.2, id="small jobs add up"),
        pytest.param("memAvailable", {MEMORY: "512Gi"}, 100.0, id="memory in bytes"),
        pytest.param("tpuClusterAvailable", {GPU: "1"}, 0.0, id="nothing of it is asked for"),
        pytest.param("somebodyElsesScore", {GPU: "1"}, 0.0, id="not one of our scores"),
    ],
)
def test_a_placed_job_lowers_a_score(score: str, amounts: dict[str, str], points: float) -> None:
    assert loss(score, {name: parse(value) for name, value in amounts.items()}, ScoreScale()) == points


def test_a_loss_is_what_the_score_really_falls_by() -> None:
    before = scores([{GPU: Decimal(3)}], ScoreScale())["gpuClusterAvailable"]
    after = scores([{GPU: Decimal(2)}], ScoreScale())["gpuClusterAvailable"]

    assert before - after == loss("gpuClusterAvailable", {GPU: Decimal(1)}, ScoreScale())

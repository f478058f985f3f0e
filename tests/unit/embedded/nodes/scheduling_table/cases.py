"""Nodes, what runs on them, and a pod that looks for a node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.scheme import Manifest

GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class ANode:
    name: str = "a"
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Manifest] = ()
    unschedulable: bool = False
    resources: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> Manifest:
        return {"taints": list(self.taints), "unschedulable": self.unschedulable}

    @property
    def allocatable(self) -> Mapping[str, str]:
        return {"cpu": "4", "memory": "8Gi", "pods": "10", **self.resources}


@dataclass(frozen=True)
class Case:
    name: str
    nodes: Sequence[ANode] = (ANode(),)
    running: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By node, what a pod there takes."""
    requests: Mapping[str, str] = field(default_factory=dict)
    pod: Manifest = field(default_factory=dict)
    """More of the pod's spec."""


def taint(effect: str, key: str = "for", value: str = "others") -> Manifest:
    return {"key": key, "value": value, "effect": effect}


def affinity(*terms: Manifest) -> Manifest:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required}}


def label(key: str, operator: str, *values: str) -> Manifest:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


def named(*names: str) -> Manifest:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}


def init_container(**requests: Any) -> Manifest:
    return {"initContainers": [{"name": "i", "image": "x", "resources": {"requests": requests}}]}


A, B, C = ANode("a"), ANode("b"), ANode("c")
CASES = [
    Case("fits"),
    Case("no-nodes", nodes=()),
    # Resources
    Case("more-cpu-than-a-node-has", requests={"cpu": "5"}),
    Case("cpu-is-taken", running={"a": {"cpu": "3"}}, requests={"cpu": "2"}),
    Case(
        "cpu-and-memory-are-taken", running={"a": {"cpu": "3", "memory": "6Gi"}}, requests={"cpu": "2", "memory": "4Gi"}
    ),
    Case("cpu-is-taken-and-memory-is-too-small", running={"a": {"cpu": "3"}}, requests={"cpu": "2", "memory": "9Gi"}),
    Case("no-gpu-at-all", requests={GPU: "1"}),
    Case("gpus-are-taken", (ANode(resources={GPU: "2"}),), {"a": {GPU: "2"}}, {GPU: "1"}),
    Case("a-gpu-is-free", (A, ANode("b", resources={GPU: "2"})), {"b": {GPU: "1"}}, {GPU: "1"}),
    Case("no-place-for-another-pod", (ANode(resources={"pods": "1"}),), {"a": {}}),
    Case("an-init-container-needs-more", requests={"cpu": "1"}, pod=init_container(cpu="5")),
    Case("no-ephemeral-storage", requests={"ephemeral-storage": "1Gi"}),
    Case("the-emptier-node", (A, B), {"a": {"cpu": "2", "memory": "4Gi"}}, {"cpu": "1", "memory": "1Gi"}),
    # Wishes
    Case("selector-matches-none", (A, B), pod={"nodeSelector": {"disk": "ssd"}}),
    Case("selector-matches", (A, ANode("b", {"disk": "ssd"})), pod={"nodeSelector": {"disk": "ssd"}}),
    Case("affinity-matches-none", (A, ANode("b", {"zone": "x"})), pod=affinity(label("zone", "In", "y"))),
    Case(
        "affinity-one-of-two-terms",
        (A, ANode("b", {"n": "5"})),
        pod=affinity(label("z", "Exists"), label("n", "Gt", "4")),
    ),
    Case("affinity-by-name", (A, B), pod=affinity(named("b"))),
    Case("affinity-by-a-name-that-is-full", (A, B), {"b": {"cpu": "4"}}, {"cpu": "1"}, affinity(named("b"))),
    Case("affinity-by-an-unknown-name", (A, B), pod=affinity(named("d"))),
    # Taints and cordons
    Case("tainted", (ANode(taints=[taint("NoSchedule")]),)),
    Case("tainted-to-evict", (ANode(taints=[taint("NoExecute")]),)),
    Case("tainted-softly", (ANode(taints=[taint("PreferNoSchedule")]),)),
    Case(
        "tolerated",
        (ANode(taints=[taint("NoSchedule")]),),
        pod={"tolerations": [{"key": "for", "operator": "Exists", "effect": "NoSchedule"}]},
    ),
    Case(
        "another-value-is-tolerated",
        (ANode(taints=[taint("NoSchedule")]),),
        pod={"tolerations": [{"key": "for", "value": "us"}]},
    ),
    Case("cordoned", (ANode(unschedulable=True), ANode("b", taints=[taint("NoSchedule")]))),
    # Several reasons
    Case(
        "each-node-for-another-reason",
        (A, ANode("b", taints=[taint("NoSchedule")]), ANode("c", unschedulable=True), ANode("d", resources={GPU: "1"})),
        {"d": {GPU: "1"}},
        {GPU: "1"},
    ),
    Case(
        "two-are-full-and-one-is-too-small",
        (A, B, ANode("c", resources={"cpu": "1"})),
        {n: {"cpu": "3"} for n in "ab"},
        {"cpu": "2"},
    ),
    # Pods that are not to be scheduled
    Case("gated", pod={"schedulingGates": [{"name": "example.com/wait"}]}),
    Case("of-another-scheduler", pod={"schedulerName": "another"}),
]

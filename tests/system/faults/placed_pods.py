"""Where pods are that were placed by topology: on the nodes that Kueue assigned, and together where they must be.

Asked of pods that live and are not about to go, on nodes that have been there for as long: where somebody deletes a
node and makes it anew, its pods outlive it, and Kueue, which has replaced it by then, leaves those that run alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.kueue_topology import TopologyRequest
from fleetqueue.api.meta import key_of
from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names

Placed = Mapping["PodSetName", Sequence[str]]
"""The nodes on which pods are, one for each pod."""


class PodSetName(NamedTuple):
    workload: str
    name: str

    def __str__(self) -> str:
        return f"{self.workload} {self.name}"


def misplaced(workloads: Sequence[Manifest], pods: Sequence[Manifest], nodes: Sequence[Manifest]) -> Iterator[str]:
    """Say of which pod sets pods are elsewhere than they were assigned, or apart although they must be together."""
    by_name = {node.name: node for node in map(Node.view, nodes)}
    placed = _placed(pods, by_name)
    for raw in workloads:
        view = kueue.Workload.view(raw)
        if not _is_placed(view):
            continue
        requests = {one.name: one.topology_request for one in pod_sets(raw["spec"]["podSets"])}
        for part in view.status.admission.pod_set_assignments:
            name = PodSetName(view.key, part.name)
            yield from _elsewhere(name, part, placed[name])
            yield from _apart(name, requests[part.name], [by_name[node] for node in placed[name]])


def _is_placed(view: kueue.Workload) -> bool:
    """Tell whether a Workload holds the nodes that it was assigned, and does not have to leave them."""
    if not (view.is_true(kueue.ADMITTED) and view.is_live) or view.is_true(kueue.EVICTED):
        return False
    return any(part.topology_assignment is not None for part in view.status.admission.pod_set_assignments)


def _placed(pods: Sequence[Manifest], nodes: Mapping[str, Node]) -> Placed:
    placed: defaultdict[PodSetName, list[str]] = defaultdict(list)
    for pod in map(Pod.view, pods):
        workload, part = pod.metadata.annotations.get(names.WORKLOAD), pod.metadata.labels.get(names.POD_SET)
        if workload and part and pod.is_active and _is_older(nodes.get(pod.spec.node_name), pod):
            placed[PodSetName(key_of(pod.namespace, workload), part)].append(pod.spec.node_name)
    return placed


def _is_older(node: Node | None, pod: Pod) -> bool:
    return node is not None and node.metadata.creation_timestamp <= pod.metadata.creation_timestamp


def _elsewhere(name: PodSetName, part: kueue.PodSetAssignment, placed: Sequence[str]) -> Iterator[str]:
    """Compare where pods are with where, and how many, they were assigned."""
    domains = part.topology_assignment.domains if part.topology_assignment is not None else ()
    assigned = Counter({domain.values[-1]: domain.pods for domain in domains})
    for node, pods in Counter(placed).items():
        if pods > assigned[node]:
            yield f"{name} has {pods} pods on {node}, of {dict(assigned)} that were assigned"


def _apart(name: PodSetName, request: TopologyRequest | None, nodes: Sequence[Node]) -> Iterator[str]:
    """Look whether pods that must be in one domain are."""
    level = request.required if request is not None else None
    domains = {node.metadata.labels[level] for node in nodes} if level else set()
    if len(domains) > 1:
        yield f"{name} must be in one {level}, and is in {', '.join(sorted(domains))}"

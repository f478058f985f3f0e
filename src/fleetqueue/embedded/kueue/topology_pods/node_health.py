"""Whether a Workload can stay on a node that it was assigned, and which of its pods wait there in vain.

A node is lost to a Workload once its pods there have gone, or cannot come: then another node takes its place. Before
that the pods have the time that their tolerations and their grace period give them.

Mirrors: Kueue pkg/controller/tas/node_controller.go (getWorkloadStatus, checkPodsOnNode)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Self

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.kueue_pods import TOPOLOGY_GATE, has_ended, is_deleting, is_gated
from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.taints import Taint, Toleration, is_tolerated
from fleetqueue.api.topology_names import asks_for_topology

FAILURE_DELAY: Final = timedelta(seconds=30)
"""For how long a node may not be ready, where a fixed time decides."""


@dataclass(frozen=True, slots=True)
class ReplacementGates:
    """The feature gates that say when a node is replaced."""

    on_taints: bool = True
    """Whether a taint is a reason."""
    on_pod_termination: bool = True
    """Whether the pods on it have to end first."""
    after_fixed_time: bool = False
    """Whether it is given up after a fixed time, whatever its pods do."""

    @classmethod
    def of(cls, gates: Mapping[str, bool]) -> Self:
        return cls(
            on_taints=gates.get("TASReplaceNodeOnNodeTaints", True),
            on_pod_termination=gates.get("TASReplaceNodeOnPodTermination", True),
            after_fixed_time=gates.get("TASReplaceNodeDueToNotReadyOverFixedTime", False),
        )


class NodeHealth(NamedTuple):
    is_lost: bool
    stranded: Sequence[Manifest] = ()
    """Pods that were told to run on the node and never will."""


class PodsOfNode(NamedTuple):
    """The pods of one Workload at a node."""

    running: Sequence[Manifest]
    """Those that were scheduled there."""
    told: Sequence[Manifest]
    """Those that may run there alone."""

    @property
    def go_on(self) -> bool:
        return any(not has_ended(pod) and not is_deleting(pod) for pod in self.running)

    @property
    def waiting(self) -> list[Manifest]:
        return [pod for pod in self.told if _waits(pod)]


def _waits(pod: Manifest) -> bool:
    is_pending = (pod.get("status") or {}).get("phase", "Pending") == "Pending"
    return is_pending and not pod["spec"].get("nodeName") and not is_gated(pod, TOPOLOGY_GATE)


def health(
    workload: kueue.Workload,
    node: Node,
    pods: PodsOfNode,
    tolerations: Sequence[Sequence[Toleration]],
    gates: ReplacementGates,
) -> NodeHealth:
    """Tell how a Workload fares on a node that exists; `tolerations` are those of each of its pod sets there."""
    if node.name not in assigned_nodes(workload):
        return NodeHealth(is_lost=False, stranded=pods.waiting)
    if not node.is_ready:
        return _of_pods(pods) if gates.on_pod_termination else NodeHealth(is_lost=True)
    taints = [taint for taint in node.spec.taints if taint.keeps_out] if gates.on_taints else []
    if untolerated := [taint for taint in taints if not _is_tolerated_by_all(taint, tolerations)]:
        return _of_pods(pods) if gates.on_pod_termination else NodeHealth(is_lost=True)
    lasting = [[one for one in each if one.toleration_seconds is None] for each in tolerations]
    if not untolerated and all(_is_tolerated_by_all(taint, lasting) for taint in taints):
        return NodeHealth(is_lost=False)
    return _of_pods(pods)


def _is_tolerated_by_all(taint: Taint, tolerations: Iterable[Sequence[Toleration]]) -> bool:
    return all(is_tolerated(taint, each) for each in tolerations)


def _of_pods(pods: PodsOfNode) -> NodeHealth:
    return NodeHealth(is_lost=not pods.go_on, stranded=pods.waiting)


def assigned_nodes(workload: kueue.Workload) -> set[str]:
    """Return the nodes that the pods of a Workload were assigned; where the lowest level is larger, none."""
    admission = workload.status.admission
    assignments = [part.topology_assignment for part in admission.pod_set_assignments] if admission is not None else []
    return {
        domain.values[-1]
        for assignment in assignments
        if assignment is not None and assignment.is_of_nodes
        for domain in assignment.domains
        if domain.pods > 0
    }


def is_of_interest(workload: kueue.Workload) -> bool:
    """Tell whether a Workload holds its nodes: one that is over, or has to go, does not."""
    return not workload.is_finished and not workload.is_true(kueue.EVICTED)


def sets_on(workload: kueue.Workload, node: str) -> set[str]:
    """Return the pod sets that were assigned a node."""
    assert workload.status.admission is not None
    return {
        part.name
        for part in workload.status.admission.pod_set_assignments
        if part.topology_assignment is not None
        and part.topology_assignment.is_of_nodes
        and any(domain.values[-1] == node and domain.pods > 0 for domain in part.topology_assignment.domains)
    }


def time_left(node: Node, now: datetime) -> timedelta:
    """Return for how much longer a node that is not ready is waited for."""
    since = node.ready.last_transition_time if node.ready is not None else None
    return FAILURE_DELAY - (now - since) if since is not None else timedelta()


def nodes_of_pod(pod: Pod) -> Iterable[str]:
    """Return the node at which something is to be seen to when a pod changes: it waits for it, or ends there."""
    if not asks_for_topology(pod.metadata.annotations):
        return
    told = pod.spec.node_selector.get(HOSTNAME)
    if not pod.spec.node_name and told:
        yield told
    if pod.spec.node_name and (pod.is_deleting or pod.has_ended):
        yield pod.spec.node_name

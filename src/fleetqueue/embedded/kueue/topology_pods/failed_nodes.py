"""Note the nodes that Workloads lost, so that the scheduler finds others; evict who lost more than one.

Reads:   Node, Workload, ResourceFlavor, the pods that Kueue started
Writes:  Workload status (as `kueue-admission`), the status of pods that wait for such a node, Events
Mirrors: Kueue pkg/controller/tas/node_controller.go
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import TRUE, timestamp
from fleetqueue.api.core_v1 import FAILED, Node, Pod
from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.api.meta import key_of, precondition_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.taints import Toleration
from fleetqueue.api.topology_names import asks_for_topology
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs.pod_set_info import of_admission
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.topology_pods.node_health import (
    NodeHealth,
    PodsOfNode,
    ReplacementGates,
    assigned_nodes,
    health,
    is_of_interest,
    nodes_of_pod,
    sets_on,
    time_left,
)
from fleetqueue.embedded.kueue.topology_pods.started_pods import STARTED, StartedPods
from fleetqueue.embedded.kueue.topology_pods.ungating import is_placed_by_topology
from fleetqueue.rules import workload_admission
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import apply_admission

BY_NODE: Final = "assigned node"
"""Admitted Workloads by the nodes that they were assigned."""
BY_TOLD_NODE: Final = "node that it is told"
"""Pods by the only node that they may run on."""
NODE_FAILURES: Final = "NodeFailures"
STRANDED: Final = {
    "type": "TerminatedByKueue",
    "status": TRUE,
    "reason": "UnschedulableOnAssignedNode",
    "message": "Pod terminated by Kueue NodeController due to node taint",
}

log = Log("kueue")


class FailedNodeController(Controller):
    """Its keys are nodes."""

    name = "failed nodes"

    def __init__(self, hub: Cluster, metrics: Metrics, kueue_metrics: KueueMetrics, settings: KueueSettings) -> None:
        super().__init__(hub, metrics)
        self.kueue_metrics = kueue_metrics
        self.gates = ReplacementGates.of(settings.feature_gates)
        self.events = SeriesRecorder(hub.client, "tas-resource-flavor-controller")
        self.pods = StartedPods(hub)
        self.pods.store.add_index(BY_TOLD_NODE, _told_node)
        self.workloads = hub.informer(kueue.QueuedWorkload).store
        self.workloads.add_index(BY_NODE, _nodes_of)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(Node, lambda node: [node.name], facts=lambda node: (node.uid, node.is_ready, node.spec.taints))
        yield Watch(Pod, nodes_of_pod, labels=STARTED)
        for kind in (kueue.QueuedWorkload, kueue.ResourceFlavor):
            yield Watch(kind)

    async def reconcile(self, key: str) -> None:
        node = self.hub.get(Node, key)
        assigned = {view.key for view in self.workloads.by_index(BY_NODE, key)}
        if node is None or node.ready is None:
            for workload in sorted(assigned):
                await self._lose(workload, key)
            return
        if not node.is_ready:
            assigned -= await self._give_up_in_time(node, assigned)
        for workload in sorted(assigned | self._of_late_pods(key)):
            await self._look_after(workload, node)

    async def _give_up_in_time(self, node: Node, assigned: set[str]) -> set[str]:
        """Give a node up that is not ready for too long, if a time decides; return who was evicted."""
        left = time_left(node, clock.now()).total_seconds()
        if left > 0 and not self.gates.on_pod_termination:
            raise errors.RetryLater(left, "the node may be ready again")
        if left > 0 or not self.gates.after_fixed_time:
            return set()
        return {workload for workload in sorted(assigned) if await self._lose(workload, node.name)}

    def _of_late_pods(self, node: str) -> set[str]:
        """Return the Workloads whose pods may run on this node alone, though they may have another one by now."""
        told = self.pods.store.by_index(BY_TOLD_NODE, node)
        keys = {key_of(pod.namespace, pod.metadata.annotations[names.WORKLOAD]) for pod in told if _has_workload(pod)}
        return {key for key in keys if (view := self.workloads.get(key)) is not None and is_of_interest(view)}

    async def _look_after(self, key: str, node: Node) -> None:
        workload, raw = self.workloads.get(key), self.workloads.raw(key)
        if workload is None or raw is None:
            return
        found = self._health(workload, raw, node)
        if found.is_lost:
            if await self._lose(key, node.name):
                return  # its pods go with it
        else:
            await self._get_back(workload, raw, node.name)
        for pod in found.stranded:
            await self._end(pod)

    def _health(self, workload: kueue.Workload, raw: Manifest, node: Node) -> NodeHealth:
        pods = self.pods.of(raw)
        of_node = PodsOfNode(
            running=[pod for pod in pods if pod["spec"].get("nodeName") == node.name],
            told=[pod for pod in pods if _is_told(pod, node.name)],
        )
        return health(workload, node, of_node, self._tolerations(workload, raw, node), self.gates)

    def _tolerations(self, workload: kueue.Workload, raw: Manifest, node: Node) -> list[list[Toleration]]:
        """Return what the pods of each set on a node tolerate: by themselves, by their flavors, and by their checks."""
        if workload.status.admission is None or not any(taint.keeps_out for taint in node.spec.taints):
            return []
        given = {info.name: info.tolerations for info in of_admission(raw, self._flavor)}
        here = sets_on(workload, node.name)
        templates = {one["name"]: one["template"]["spec"] for one in raw["spec"]["podSets"] if one["name"] in here}
        return [
            msgspec.convert([*(spec.get("tolerations") or ()), *given.get(name, ())], list[Toleration])
            for name, spec in templates.items()
        ]

    def _flavor(self, name: str) -> Manifest | None:
        return self.hub.informer(kueue.ResourceFlavor).store.raw(name)

    # What it writes

    async def _lose(self, key: str, node: str) -> bool:
        """Note that a Workload lost a node; return whether it is evicted, as it had lost another one before."""
        workload, raw = self.workloads.get(key), self.workloads.raw(key)
        if workload is None or raw is None:
            return False
        if workload.is_true(kueue.EVICTED):
            return True
        lost = [one.name for one in workload.status.unhealthy_nodes]
        if node in lost:
            return False
        if lost:
            await self._evict(workload, raw, [*lost, node])
            return True
        await apply_admission(self.hub.client, workload_admission.patch(raw, unhealthyNodes=[{"name": node}]))
        log.info("node lost", workload=key, node=node)
        return False

    async def _get_back(self, workload: kueue.Workload, raw: Manifest, node: str) -> None:
        lost = [one.name for one in workload.status.unhealthy_nodes]
        if node in lost:
            left = [{"name": name} for name in lost if name != node]
            await apply_admission(self.hub.client, workload_admission.patch(raw, unhealthyNodes=left or None))
            log.info("node is back", workload=workload.key, node=node)

    async def _evict(self, workload: kueue.Workload, raw: Manifest, nodes: Sequence[str]) -> None:
        message = "Workload eviction triggered due to multiple TAS assigned node failures, including: " + ", ".join(
            nodes
        )
        status = admission_status.evicted(raw, NODE_FAILURES, message, clock.now())
        await apply_admission(self.hub.client, workload_admission.applied_over(raw, status))
        log.info("workload evicted", workload=workload.key, why=message)
        await self.events.normal(workload, f"{kueue.EVICTED}DueTo{NODE_FAILURES}", message)
        if workload.status.admission is not None:
            is_first = admission_status.is_first_eviction(status, NODE_FAILURES)
            queue, why = workload.status.admission.cluster_queue, (NODE_FAILURES, "")
            self.kueue_metrics.evicted(workload, queue, why, clock.now(), is_first=is_first)

    async def _end(self, pod: Manifest) -> None:
        """Let a pod fail that never starts, so that another one comes for another node."""
        metadata = pod["metadata"]
        known = (pod.get("status") or {}).get("conditions") or ()
        told = {**STRANDED, "lastTransitionTime": timestamp(clock.now())}
        patch = {"metadata": precondition_of(metadata), "status": {"phase": FAILED, "conditions": [*known, told]}}
        with suppress(errors.NotFound):
            await self.hub.client.merge(
                Pod.resource, metadata["name"], metadata["namespace"], patch, subresource="status"
            )
            await self.events.normal(Pod.view(pod), "PodTerminatedByKueue", STRANDED["message"], action="PodTerminated")


def _nodes_of(workload: kueue.QueuedWorkload) -> Iterable[str]:
    return assigned_nodes(workload) if is_placed_by_topology(workload) and is_of_interest(workload) else ()


def _told_node(pod: Pod) -> Iterable[str]:
    node = pod.spec.node_selector.get(HOSTNAME)
    return [node] if node and asks_for_topology(pod.metadata.annotations) else []


def _has_workload(pod: Pod) -> bool:
    return bool(pod.metadata.annotations.get(names.WORKLOAD))


def _is_told(pod: Manifest, node: str) -> bool:
    return (pod["spec"].get("nodeSelector") or {}).get(HOSTNAME) == node

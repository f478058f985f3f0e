"""Notice nodes whose kubelet no longer reports, and taint those that are not well, so that pods stay away or leave.

Reads:   Node, Lease in kube-node-lease, Pod
Writes:  Node conditions and taints, the condition Ready of pods, Events
Mirrors: kubernetes pkg/controller/nodelifecycle

Left out: zones, and the rate at which many nodes are tainted. Where no node at all is ready, none is tainted so that
pods leave: then it is rather us who are cut off.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import READY, Node, Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.taints import NO_EXECUTE, NO_SCHEDULE, NOT_READY, UNREACHABLE, UNSCHEDULABLE
from fleetqueue.embedded.kubernetes.pods import BY_NODE, node_of, with_condition
from fleetqueue.embedded.kubernetes.settings import KubernetesSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

LEASE_NAMESPACE: Final = "kube-node-lease"
UNKNOWN: Final = "Unknown"
KUBELETS: Final = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that a kubelet writes."""
NEVER_HEARD: Final = ("NodeStatusNeverUpdated", "Kubelet never posted node status.")
SILENT: Final = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
TAINTS: Final = {
    (READY, "False"): NOT_READY,
    (READY, UNKNOWN): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}

log = Log("node-health")


class NodeHealthController(Controller):
    name = "node-health"

    def __init__(self, hub: Cluster, metrics: Metrics, *, settings: KubernetesSettings) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        self.events = CountingRecorder(hub.client, "node-controller")
        hub.informer(Pod).store.add_index(BY_NODE, node_of)
        self._news: dict[str, list[tuple[str, str]]] = {}
        """What is still to be said of nodes."""

    def watches(self) -> Iterable[Watch[Any]]:
        """Leases wake nobody: they are looked at when one may have run out."""
        return (Watch(Lease, namespace=LEASE_NAMESPACE),)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Node).subscribe(self._changed)

    def _changed(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self.wake(new.name)
            self._note(old, new)
        if (old is not None and old.is_ready) != (new is not None and new.is_ready):
            for node in self.hub.list(Node):
                self.wake(node.name)

    def _note(self, old: Node | None, new: Node) -> None:
        news = self._news.setdefault(new.name, [])
        if old is None:
            news.append(("RegisteredNode", f"Node {new.name} event: Registered Node {new.name} in Controller"))
        elif old.is_ready and not new.is_ready:
            news.append(("NodeNotReady", f"Node {new.name} status is now: NodeNotReady"))

    async def reconcile(self, key: str) -> None:
        news = self._news.pop(key, [])
        node = self.hub.get(Node, key)
        if node is None:
            return
        for reason, note in news:
            await self.events.normal(node, reason, note)
        left = self._seconds_left(node)
        if left <= 0 and not _is_unknown(node):
            await self._give_up(node)
            return  # the change wakes us
        await self._taint(node)
        if _is_unknown(node):
            await self._mark_pods(node)
        else:
            raise errors.RetryLater(left, "it has to be heard of until then")

    def _seconds_left(self, node: Node) -> float:
        """Return until when the kubelet has to report."""
        lease = self.hub.get(Lease, node.name, LEASE_NAMESPACE)
        grace = self.settings.node_grace if node.ready is not None else self.settings.node_start_grace
        return (last_heard(node, lease) + timedelta(seconds=grace) - clock.now()).total_seconds()

    async def _give_up(self, node: Node) -> None:
        conditions = unknown_conditions(node, self._raw(node, "status").get("conditions") or (), clock.now())
        patch = {"metadata": node.precondition, "status": {"conditions": conditions}}
        await self.hub.client.merge(Node.resource, node.name, "", patch, subresource="status")
        log.warning("node is not heard of any more", cluster=self.hub.name, node=node.name)

    async def _taint(self, node: Node) -> None:
        may_evict = any(other.is_ready for other in self.hub.list(Node))
        live = self._raw(node, "spec").get("taints") or []
        wanted = wanted_taints(node, live, may_evict=may_evict, now=clock.now())
        if wanted != live:
            patch = {"metadata": node.precondition, "spec": {"taints": wanted or None}}
            await self.hub.client.merge(Node.resource, node.name, "", patch)

    async def _mark_pods(self, node: Node) -> None:
        """Say of the pods of a lost node that they are not ready: nobody else does."""
        for pod in self.hub.by_index(Pod, BY_NODE, node.name):
            if pod.is_ready:
                conditions = self.hub.raw(pod)["status"]["conditions"]
                ready = next(condition for condition in conditions if condition["type"] == READY)
                unready = with_condition(conditions, {**ready, "status": "False"}, clock.now())
                patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": unready}}
                await self.hub.client.merge(Pod.resource, pod.name, pod.namespace, patch, subresource="status")
                await self.events.warning(pod, "NodeNotReady", "Node is not ready")

    def _raw(self, node: Node, part: str) -> Manifest:
        section: Manifest = self.hub.raw(node).get(part) or {}
        return section


def last_heard(node: Node, lease: Lease | None) -> datetime:
    """Return when a node last said anything, by its lease or its status; else when it was made."""
    beat = node.ready.last_heartbeat_time if node.ready is not None else None
    moments = (node.metadata.creation_timestamp, beat, lease.spec.renew_time if lease is not None else None)
    return max(moment for moment in moments if moment is not None)


def unknown_conditions(node: Node, live: Sequence[Manifest], now: datetime) -> list[Manifest]:
    """Return the conditions of a node whose kubelet is silent: what it said may not be true any more."""
    by_type = {condition["type"]: condition for condition in live}
    created = timestamp(node.metadata.creation_timestamp or now)
    for kind in KUBELETS:
        reason, message = SILENT if kind in by_type else NEVER_HEARD
        before = by_type.get(kind) or {"type": kind, "lastHeartbeatTime": created}
        if before.get("status") != UNKNOWN:
            new = {"status": UNKNOWN, "reason": reason, "message": message, "lastTransitionTime": timestamp(now)}
            by_type[kind] = {**before, **new}
    return list(by_type.values())


def wanted_taints(node: Node, live: Sequence[Manifest], *, may_evict: bool, now: datetime) -> list[Manifest]:
    """Return the taints that fit a node's conditions, and those of others as they are."""
    keys = [key for (kind, status), key in TAINTS.items() if _says(node, kind, status)]
    wanted = {(key, NO_SCHEDULE) for key in keys} | (
        {(UNSCHEDULABLE, NO_SCHEDULE)} if node.spec.unschedulable else set()
    )
    if may_evict:
        wanted |= {(key, NO_EXECUTE) for key in keys if key in (NOT_READY, UNREACHABLE)}
    ours = {(key, NO_SCHEDULE) for key in (*TAINTS.values(), UNSCHEDULABLE)}
    ours |= {(key, NO_EXECUTE) for key in (NOT_READY, UNREACHABLE)}
    kept = [taint for taint in live if _id(taint) in wanted or _id(taint) not in ours]
    missing = sorted(wanted - {_id(taint) for taint in kept}, reverse=True)
    return [*kept, *({"key": key, "effect": effect, "timeAdded": timestamp(now)} for key, effect in missing)]


def _is_unknown(node: Node) -> bool:
    return node.ready is not None and node.ready.status == UNKNOWN


def _says(node: Node, kind: str, status: str) -> bool:
    return any((condition.type, condition.status) == (kind, status) for condition in node.status.conditions)


def _id(taint: Manifest) -> tuple[str, str]:
    return taint["key"], taint["effect"]

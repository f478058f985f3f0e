"""Register nodes, and keep saying that they are alive and well.

Reads:   Node
Writes:  Node (once), the labels that name it, its conditions, its Lease in kube-node-lease
Mirrors: kubernetes pkg/kubelet/kubelet_node_status.go, component-helpers/apimachinery/lease

A node that exists already is taken over as it is: what somebody wrote into its capacity, such as GPUs that nobody has,
stays there. Of a node with the annotation `fleetqueue.dev/silent: "true"` nothing is heard, as if its machine were off.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import micro_timestamp, timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.nodes.settings import KubeletSettings, NodeSettings, is_silent
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_DURATION: Final = 40
"""Seconds without renewal after which others take the node for lost."""
WELL: Final = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
}

log = Log("nodes")


class NodeLeaseController(Controller):
    name = "node-leases"

    def __init__(self, hub: Cluster, metrics: Metrics, *, settings: KubeletSettings) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        self._registered: set[str] = set()
        """Nodes that were there once: one that is deleted stays away, as with a real kubelet."""
        self._named: set[str] = set()
        """The uids of nodes that were labelled: a kubelet does so when it starts, and not again."""
        self._renewed: dict[str, float] = {}
        """When each lease was renewed; nobody else does it, so that it need not be followed."""

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Node, by_key),)

    async def work(self) -> None:
        for settings in self.settings.nodes:
            self.wake(settings.name)
        await super().work()

    async def reconcile(self, key: str) -> None:
        settings, node = self.settings.of(key), self.hub.get(Node, key)
        if node is None:
            self._renewed.pop(key, None)
            if settings is not None and settings in self.settings.nodes and key not in self._registered:
                await self._register(settings)
            return
        self._registered.add(key)
        if settings is None or is_silent(node):
            return
        if node.uid not in self._named:
            await self._name(node)
        await self._report(node, settings)
        left = self._seconds_left(key)
        if left <= 0:
            await self._renew(node)
        raise errors.RetryLater(left if left > 0 else self.settings.lease_seconds, "the lease is to be renewed")

    async def _register(self, settings: NodeSettings) -> None:
        await self.hub.client.create(Node.resource, node_manifest(settings))
        self._registered.add(settings.name)
        log.info("node registered", cluster=self.hub.name, node=settings.name)

    async def _name(self, node: Node) -> None:
        """Label a node that somebody else made as one that registers by itself."""
        labels = {key: value for key, value in own_labels(node.name).items() if node.metadata.labels.get(key) != value}
        if labels:
            patch = {"metadata": {"uid": node.uid, "labels": labels}}
            await self.hub.client.merge(Node.resource, node.name, "", patch)
        self._named.add(node.uid)

    async def _report(self, node: Node, settings: NodeSettings) -> None:
        """Write the conditions where they differ or have grown old, and what a new node has."""
        raw = self.hub.raw(node)
        live = raw.get("status") or {}
        status = wanted_status(settings, live, clock.now(), timedelta(seconds=self.settings.report_seconds))
        if not status:
            return
        patch = {"metadata": {"uid": node.uid}, "status": status}
        await self.hub.client.merge(Node.resource, node.name, "", patch, subresource="status")
        if not node.is_ready:
            events = CountingRecorder(self.hub.client, "kubelet", node.name)
            await events.normal(node, "NodeReady", f"Node {node.name} status is now: NodeReady")

    async def _renew(self, node: Node) -> None:
        moment = micro_timestamp(clock.now())
        spec = {"holderIdentity": node.name, "leaseDurationSeconds": LEASE_DURATION, "renewTime": moment}
        try:
            await self.hub.client.merge(Lease.resource, node.name, LEASE_NAMESPACE, {"spec": spec})
        except errors.NotFound:
            owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
            manifest = Lease.manifest(node.name, LEASE_NAMESPACE, spec=spec)
            manifest["metadata"]["ownerReferences"] = [owner]
            await self.hub.client.create(Lease.resource, manifest)
        self._renewed[node.name] = clock.monotonic()

    def _seconds_left(self, node: str) -> float:
        """Return when the lease is to be renewed; every change of the node brings us here, also our own."""
        renewed = self._renewed.get(node)
        return 0.0 if renewed is None else renewed + self.settings.lease_seconds - clock.monotonic()


def node_manifest(settings: NodeSettings) -> Manifest:
    """Build a node as a kubelet registers it."""
    labels = {**own_labels(settings.name), **settings.labels}
    network = f"{settings.pod_network}.0/24"
    spec: Manifest = {"podCIDR": network, "podCIDRs": [network]}
    if settings.taints:
        spec["taints"] = [dict(taint) for taint in settings.taints]
    return Node.manifest(settings.name, labels=labels, spec=spec)


def own_labels(name: str) -> dict[str, str]:
    return {HOSTNAME: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}


def wanted_status(settings: NodeSettings, live: Manifest, now: datetime, report: timedelta) -> Manifest:
    """Return what has to be written of a node's status; empty where all is said, and not long ago."""
    status: Manifest = {}
    if settings.capacity and not live.get("capacity"):
        status |= {"capacity": dict(settings.capacity), "allocatable": dict(settings.capacity)}
    if not live.get("addresses"):
        status["addresses"] = [
            {"type": "InternalIP", "address": settings.address},
            {"type": "Hostname", "address": settings.name},
        ]
    if not (live.get("nodeInfo") or {}).get("kubeletVersion"):
        status["nodeInfo"] = _info(settings)
    before = {one["type"]: one for one in live.get("conditions") or ()}
    own = [_condition(kind, words, before.get(kind), now) for kind, words in WELL.items()]
    is_said = all(kind in before and before[kind]["status"] == words[0] for kind, words in WELL.items())
    if not is_said or now - _beat(before["Ready"]) >= report:
        status["conditions"] = [*(one for kind, one in before.items() if kind not in WELL), *own]
    return status


def _condition(kind: str, words: tuple[str, str, str], before: Manifest | None, now: datetime) -> Manifest:
    status, reason, message = words
    is_same = before is not None and before["status"] == status
    since = before["lastTransitionTime"] if before is not None and is_same else timestamp(now)
    condition = {"type": kind, "status": status, "reason": reason, "message": message}
    return {**condition, "lastHeartbeatTime": timestamp(now), "lastTransitionTime": since}


def _beat(condition: Manifest) -> datetime:
    return datetime.fromisoformat(condition.get("lastHeartbeatTime") or condition["lastTransitionTime"])


def _info(settings: NodeSettings) -> Manifest:
    empty = ("machineID", "systemUUID", "bootID", "kernelVersion")
    return {
        **dict.fromkeys(empty, ""),
        "osImage": "fleetqueue",
        "containerRuntimeVersion": "fleetqueue://",
        "kubeletVersion": settings.version,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }

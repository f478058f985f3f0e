"""Delete pods from nodes with a taint that they do not tolerate, or not for so long.

Reads:   Node, Pod
Writes:  Pod (the condition DisruptionTarget, delete), Events
Mirrors: kubernetes pkg/controller/tainteviction
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.taints import NO_EXECUTE, NOT_READY, UNREACHABLE, Taint, Toleration
from fleetqueue.embedded.kubernetes.pods import BY_NODE, node_of, with_condition
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status

DEFAULT: Final = tuple(
    Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=300)
    for key in (NOT_READY, UNREACHABLE)
)
"""What every pod tolerates unless it says otherwise: a real API server writes it into each."""
DISRUPTED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}
REASON: Final = "TaintManagerEviction"

log = Log("taint-evictions")


class TaintEvictionController(Controller):
    name = "taint-evictions"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = CountingRecorder(hub.client, "taint-eviction-controller")
        hub.informer(Pod).store.add_index(BY_NODE, node_of)
        self._since: dict[str, dict[str, datetime]] = {}
        """When taints without a time were first seen, by node and key."""
        self._waiting: dict[str, set[str]] = {}
        """By node, the uids of the pods that have to go later."""

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(Node, lambda node: [node.name] if _evicting(node) or node.name in self._waiting else []),
            Watch(Pod, self._tainted_node_of),
        )

    def _tainted_node_of(self, pod: Pod) -> Iterable[str]:
        node = self.hub.get(Node, pod.spec.node_name) if pod.spec.node_name else None
        return [node.name] if node is not None and _evicting(node) else []

    async def reconcile(self, key: str) -> None:
        taints = self._taints(key)
        waited, waiting, waits = self._waiting.pop(key, set()), set(), []
        for pod in self.hub.by_index(Pod, BY_NODE, key):
            due = eviction_time(pod.spec.tolerations, taints)
            if pod.is_deleting or pod.has_ended:
                continue
            if due is None:
                if pod.uid in waited:
                    await self.events.normal(pod, REASON, f"Cancelling deletion of Pod {pod.key}")
            elif due > clock.now():
                waiting.add(pod.uid)
                waits.append((due - clock.now()).total_seconds())
            else:
                await self._evict(pod)
        if waits:
            self._waiting[key] = waiting
            raise errors.RetryLater(min(waits), "a pod tolerates a taint until then")

    def _taints(self, name: str) -> list[tuple[Taint, datetime]]:
        """Return the taints of a node that make pods leave, each with the moment of its coming."""
        node, seen = self.hub.get(Node, name), self._since.pop(name, {})
        taints = _evicting(node) if node is not None else ()
        dated = [(taint, taint.time_added or seen.get(taint.key) or clock.now()) for taint in taints]
        if dated:
            self._since[name] = {taint.key: since for taint, since in dated}
        return dated

    async def _evict(self, pod: Pod) -> None:
        await self.events.normal(pod, REASON, f"Marking for deletion Pod {pod.key}")
        live = live_status(self.hub, pod).get("conditions") or []
        disrupted = {**DISRUPTED, "observedGeneration": pod.metadata.generation}
        status = {"conditions": with_condition(live, disrupted, clock.now())}
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        try:
            await self.hub.client.merge(Pod.resource, pod.name, pod.namespace, patch, subresource="status")
            await self.hub.client.delete(Pod.resource, pod.name, pod.namespace, uid=pod.uid)
        except errors.NotFound:
            return
        log.info("pod evicted", pod=pod.key, node=pod.spec.node_name)


def _evicting(node: Node) -> Sequence[Taint]:
    """Return the taints for which pods have to go that do not tolerate them."""
    return [taint for taint in node.spec.taints if taint.effect == NO_EXECUTE]


def eviction_time(tolerations: Sequence[Toleration], taints: Sequence[tuple[Taint, datetime]]) -> datetime | None:
    """Return when a pod has to go for the taints of its node, each with the moment of its coming; None for never."""
    ends = [_end(tolerations, taint, since) for taint, since in taints]
    return min((end for end in ends if end is not None), default=None)


def _end(tolerations: Sequence[Toleration], taint: Taint, since: datetime) -> datetime | None:
    """Return until when one taint is tolerated: of several tolerations the shortest counts."""
    fitting = [one for one in tolerations if one.fits(taint)] or [one for one in DEFAULT if one.fits(taint)]
    if not fitting:
        return since
    seconds = [one.toleration_seconds for one in fitting if one.toleration_seconds is not None]
    return since + timedelta(seconds=max(min(seconds), 0)) if seconds else None

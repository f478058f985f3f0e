"""Remove pods that nobody else can: of nodes that are gone, without a node, and ended ones beyond a number.

Reads:   Pod, Node
Writes:  Pod (phase Failed, delete without grace)
Mirrors: kubernetes pkg/controller/podgc, which looks at all pods every 20 seconds; here a change wakes
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.meta import split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.taints import OUT_OF_SERVICE
from fleetqueue.embedded.kubernetes.pod_control import at_once
from fleetqueue.embedded.kubernetes.pods import BY_NODE, node_of, with_condition
from fleetqueue.embedded.kubernetes.settings import KubernetesSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status

ENDED: Final = "ended"
"""The key that stands for: too many pods have ended. No pod has it, since a pod has a namespace."""
QUARANTINE_SECONDS: Final = 40.0
"""A node may be made after its pods, or be deleted and come back."""
NODE_IS_GONE: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}

log = Log("pod-garbage")


class PodGarbageController(Controller):
    name = "pod-garbage"

    def __init__(self, hub: Cluster, metrics: Metrics, *, settings: KubernetesSettings) -> None:
        super().__init__(hub, metrics)
        self.most_ended = settings.ended_pods
        hub.informer(Pod).store.add_index(BY_NODE, node_of)
        self._ended: dict[str, Pod] = {}
        self._missing_since: dict[str, float] = {}

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Pod, lambda pod: [pod.key] if self._is_odd(pod) else []),)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod).subscribe(self._count)
        self.hub.informer(Node).subscribe(self._node_changed)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        node = new or old
        assert node is not None
        if new is not None:
            self._missing_since.pop(new.name, None)
        for pod in self.hub.by_index(Pod, BY_NODE, node.name):
            if self._is_odd(pod):
                self.wake(pod.key)

    def _count(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None:
            self._ended.pop(old.key, None)
        if new is not None and new.has_ended:
            self._ended[new.key] = new
            if len(self._ended) > self.most_ended:
                self.wake(ENDED)

    def _is_odd(self, pod: Pod) -> bool:
        """Tell whether no kubelet can be expected to care for a pod."""
        if not pod.spec.node_name:
            return pod.is_terminating
        node = self.hub.get(Node, pod.spec.node_name)
        if node is None:
            return not (pod.is_deleting and pod.has_ended)  # then only a finalizer holds it
        return pod.is_terminating and _is_out_of_service(node)

    async def reconcile(self, key: str) -> None:
        if key == ENDED:
            await self._remove_ended()
            return
        namespace, name = split_key(key)
        pod = self.hub.get(Pod, name, namespace)
        if pod is None or not self._is_odd(pod):
            return
        if not pod.spec.node_name or self.hub.get(Node, pod.spec.node_name) is not None:
            await self._remove(pod)
            return
        await self._wait_for_node(pod.spec.node_name)
        await self._remove(pod, NODE_IS_GONE)

    async def _wait_for_node(self, name: str) -> None:
        """Be sure that a node is gone: not only from our cache, and not only for a moment."""
        since = self._missing_since.setdefault(name, clock.monotonic())
        left = since + QUARANTINE_SECONDS - clock.monotonic()
        if left > 0:
            raise errors.RetryLater(left, "its node may still come")
        try:
            await self.hub.client.get(Node.resource, name)
        except errors.NotFound:
            return
        del self._missing_since[name]
        raise errors.RetryLater(QUARANTINE_SECONDS, "its node is there, only our cache does not show it")

    async def _remove_ended(self) -> None:
        ended = sorted(self._ended.values(), key=_age)
        await at_once(ended[: max(len(ended) - self.most_ended, 0)], self._remove)

    async def _remove(self, pod: Pod, condition: Manifest | None = None) -> None:
        """Let a pod fail that has not ended, so that its owner counts it, and delete it without grace."""
        try:
            if not pod.has_ended:
                await self._fail(pod, condition)
            await self.hub.client.delete(Pod.resource, pod.name, pod.namespace, uid=pod.uid, grace=0)
        except errors.NotFound:
            return
        log.info("pod removed", pod=pod.key, node=pod.spec.node_name)

    async def _fail(self, pod: Pod, condition: Manifest | None) -> None:
        status: Manifest = {"phase": "Failed", "observedGeneration": pod.metadata.generation}
        if condition is not None:
            live = live_status(self.hub, pod).get("conditions") or []
            new_condition = {**condition, "observedGeneration": pod.metadata.generation}
            status["conditions"] = with_condition(live, new_condition, clock.now())
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        await self.hub.client.merge(Pod.resource, pod.name, pod.namespace, patch, subresource="status")


def _is_out_of_service(node: Node) -> bool:
    return not node.is_ready and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def _age(pod: Pod) -> Any:
    return pod.metadata.creation_timestamp, pod.key

"""Play how pods run on our nodes: they start, run for as long as they ask, end or fail, and stop when they are deleted.

Reads:   Pod
Writes:  Pod status; deletes pods that have stopped
Mirrors: kubernetes pkg/kubelet, as kwok plays it

One of these serves all nodes that it is told of: nothing runs, so nothing has to be kept apart. What a pod does next,
and when, follows from the pod alone, so that a restart changes nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.meta import split_key
from fleetqueue.api.requests import Request
from fleetqueue.api.scheme import Manifest
from fleetqueue.nodes import pod_statuses, stages
from fleetqueue.nodes.addresses import Addresses
from fleetqueue.nodes.objects import Pod
from fleetqueue.nodes.settings import KubeletSettings
from fleetqueue.nodes.stages import Stage
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

FAILURE: Final = 1
"""The exit code of a pod that is asked to fail."""

log = Log("kubelet")


class KubeletController(Controller):
    name = "kubelet"
    concurrency = 4

    def __init__(self, hub: Cluster, metrics: Metrics, *, settings: KubeletSettings) -> None:
        super().__init__(hub, metrics)
        self.nodes = {node.name: node for node in settings.nodes}
        self.stages = stages.load(settings.stages)
        self.addresses = Addresses()
        self._play: dict[str, Callable[[Pod, Manifest], Manifest]] = {
            "Creating": self._creating,
            "Running": self._running,
            "Ended": self._ended,
            "Stopped": self._stopped,
        }

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Pod, lambda pod: (pod.key,) if pod.spec.node_name in self.nodes else ()),)

    def subscribe(self) -> None:
        self.hub.informer(Pod).subscribe(self.addresses.change)
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        pod = self.hub.get(Pod, name, namespace)
        if pod is None or pod.spec.node_name not in self.nodes:
            return
        stage = next((stage for stage in self.stages if stage.fits(pod)), None)
        if stage is None or _is_released(pod):
            return
        left = (stage.due(pod) - clock.now()).total_seconds()
        if left > 0:
            raise errors.RetryLater(left, f"it {stage.name} then")
        await self._do(pod, stage)

    async def _do(self, pod: Pod, stage: Stage) -> None:
        log.debug("pod goes on", pod=pod.key, stage=stage.name)
        if stage.next == "Gone":
            await self._remove(pod)
            return
        live = (self.hub.informer(Pod).store.raw(pod.key) or {}).get("status") or {}
        version = {"uid": pod.uid, "resourceVersion": pod.metadata.resource_version}
        patch = {"metadata": version, "status": self._play[stage.next](pod, live)}
        await self.hub.client.merge(Pod.resource, pod.name, pod.namespace, patch, subresource="status")

    async def _remove(self, pod: Pod) -> None:
        """Delete a pod that has stopped, without grace: the very one that was seen."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        options["preconditions"] = {"uid": pod.uid}
        request = Request("DELETE", Pod.resource.path(pod.namespace, pod.name), {}, options)
        client = self.hub.client
        response = await client.door.request(request, timeout=client.timeout)
        client.observe(request, response.status)
        if response.status >= 400 and response.status != errors.NotFound.code:
            raise errors.from_status(response.status, response.body)

    def _creating(self, pod: Pod, live: Manifest) -> Manifest:
        return pod_statuses.creating(pod, live, self._host(pod), clock.now())

    def _running(self, pod: Pod, live: Manifest) -> Manifest:
        node = self.nodes[pod.spec.node_name]
        address = node.address if pod.spec.host_network else self.addresses.give(pod, node.pod_network)
        return pod_statuses.running(pod, live, node.address, address, clock.now())

    def _ended(self, pod: Pod, live: Manifest) -> Manifest:
        return pod_statuses.ended(pod, live, FAILURE if stages.fails(pod) else 0, clock.now())

    def _stopped(self, pod: Pod, live: Manifest) -> Manifest:
        return pod_statuses.ended(pod, live, pod_statuses.KILLED, clock.now())

    def _host(self, pod: Pod) -> str:
        return self.nodes[pod.spec.node_name].address


def _is_released(pod: Pod) -> bool:
    """Tell whether a pod is only there because of somebody's finalizer: the kubelet has done its part."""
    return pod.is_deleting and pod.has_ended and pod.metadata.deletion_grace_period_seconds == 0

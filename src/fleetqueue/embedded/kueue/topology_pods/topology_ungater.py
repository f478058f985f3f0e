"""Let the pods of topology-aware Workloads be scheduled: each in the domain that its set was assigned.

Reads:   Workload, the pods that Kueue started
Writes:  pods (their topology gate, and the labels of the nodes that they may run on)
Mirrors: Kueue pkg/controller/tas/topology_ungater.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_pods import TOPOLOGY_GATE, group_name
from fleetqueue.api.meta import key_of
from fleetqueue.api.pod_templates import pod_sets
from fleetqueue.api.topology_names import asks_for_topology
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.pods.pod_writes import PodWrites
from fleetqueue.embedded.kueue.topology_pods.ranks import BadOffset
from fleetqueue.embedded.kueue.topology_pods.started_pods import STARTED, StartedPods, by_pod_set
from fleetqueue.embedded.kueue.topology_pods.ungating import is_placed_by_topology, pods_to_ungate, ungated
from fleetqueue.embedded.kueue.workload_state import facts
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.metrics import Metrics

LAG_SECONDS: Final = 1.0
"""The change that we wait for wakes us; this only guards against a watch that broke."""


class TopologyUngater(Controller):
    """Its keys are Workloads."""

    name = "topology gates"
    concurrency = 4

    def __init__(self, hub: Cluster, metrics: Metrics, kueue_metrics: KueueMetrics) -> None:
        super().__init__(hub, metrics)
        self.kueue_metrics = kueue_metrics
        self.writes = PodWrites(hub, SeriesRecorder(hub.client, "tas-topology-ungater"))
        self.pods = StartedPods(hub)
        self.workloads = hub.informer(kueue.QueuedWorkload).store

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod, labels=STARTED).subscribe(self.writes.forget_gone)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(kueue.QueuedWorkload, _placed, facts=facts)
        yield Watch(Pod, _workload_of, labels=STARTED)

    async def reconcile(self, key: str) -> None:
        workload, raw = self.workloads.get(key), self.workloads.raw(key)
        if workload is None or raw is None or not is_placed_by_topology(workload):
            return
        pods = self.pods.of(raw)
        # until the cache shows a pod that we let go, its domain would seem to have room for one more
        if self.writes.is_behind(pods):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own write yet")
        requests = {pod_set.name: pod_set.topology_request for pod_set in pod_sets(raw["spec"]["podSets"])}
        try:
            chosen = [*pods_to_ungate(workload, requests, by_pod_set(pods))]
        except BadOffset as error:
            raise errors.TerminalError(str(error)) from None
        for pod, selector in chosen:
            await self.writes.change(pod, ungated(pod, selector))
            is_group = bool(group_name(pod["metadata"]))
            self.kueue_metrics.gate_removed(TOPOLOGY_GATE, workload, clock.now(), is_group=is_group)


def _placed(workload: kueue.QueuedWorkload) -> Iterable[str]:
    return [workload.key] if is_placed_by_topology(workload) else []


def _workload_of(pod: Pod) -> Iterable[str]:
    name = pod.metadata.annotations.get(names.WORKLOAD)
    return [key_of(pod.namespace, name)] if name and asks_for_topology(pod.metadata.annotations) else []

"""Let the pods of elastic jobs be scheduled: as many as the slice that is admitted asks for.

Reads:   Workload, the pods that Kueue started
Writes:  pods (their gate, and what checks say of their set)
Mirrors: Kueue pkg/controller/elasticjobs
Left out: pods that an earlier answer of a check holds back, which only ProvisioningRequests do.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_pods import has_ended, is_gated
from fleetqueue.api.meta import key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.owned_workloads import WorkloadsByOwner, owner_key
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.pods.pod_writes import PodWrites
from fleetqueue.embedded.kueue.workload_state import facts
from fleetqueue.rules.workload_slices import (
    ELASTIC_JOB,
    SLICE_NAME,
    admitted_slice,
    counts,
    is_elastic,
    pods_to_release,
    slice_name,
)
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.metrics import Metrics

STARTED_PODS: Final = names.POD_SET
"""The pods whose templates Kueue has written into, by a label."""
BY_SLICE: Final = "workload slice"
"""Pods of elastic jobs by the namespace and name of the first slice."""
LAG_SECONDS: Final = 1.0
"""The change that we wait for wakes us; this only guards against a watch that broke."""


class ElasticPodController(Controller):
    """Its keys are jobs: their kind, namespace and name."""

    name = "elastic job pods"
    concurrency = 4

    def __init__(self, hub: Cluster, metrics: Metrics, kueue_metrics: KueueMetrics) -> None:
        super().__init__(hub, metrics)
        self.kueue_metrics = kueue_metrics
        self.workloads = WorkloadsByOwner(hub)
        self.writes = PodWrites(hub, SeriesRecorder(hub.client, "elastic_job_ungater"))
        self.pods = hub.informer(Pod, labels=STARTED_PODS).store
        self.pods.add_index(BY_SLICE, _slice_of)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod, labels=STARTED_PODS).subscribe(self.writes.forget_gone)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(kueue.QueuedWorkload, _job_of_slice, facts=facts)
        yield Watch(Pod, self._job_of_pod, labels=STARTED_PODS)

    async def reconcile(self, key: str) -> None:
        active = admitted_slice(filter(is_elastic, self.workloads.by_key(key)))
        if active is None:
            return
        pods = self._pods_of(active)
        if self.writes.is_behind(pods.values()):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own write yet")
        view = kueue.QueuedWorkload.view(active)
        for name in released_pods(active, [*pods.values()]):
            pod = pods[name]
            await self.writes.change(pod, released(pod, active))
            self.kueue_metrics.gate_removed(ELASTIC_JOB, view, clock.now())

    def _pods_of(self, workload: Manifest) -> dict[str, Manifest]:
        first = key_of(workload["metadata"]["namespace"], slice_name(workload))
        views = self.pods.by_index(BY_SLICE, first)
        return {view.name: raw for view in views if (raw := self.pods.raw(view.key)) is not None}

    def _job_of_pod(self, pod: Pod) -> Iterable[str]:
        """Wake the job of the first slice; where that slice has gone, the owner of the pod."""
        for first in _slice_of(pod):
            workload = self.hub.get(kueue.QueuedWorkload, first)
            owner = workload.owner if workload is not None else None
            owner = owner or next((each for each in pod.metadata.owner_references if each.controller), None)
            if owner is not None:
                yield owner_key(owner.kind, pod.namespace, owner.name)


def released_pods(active: Manifest, pods: Sequence[Manifest]) -> list[str]:
    """Return the names of the pods that may go on, beside those that do."""
    gated: dict[str, list[str]] = defaultdict(list)
    running: Counter[str] = Counter()
    for pod in pods:
        if has_ended(pod):
            continue
        if is_gated(pod, ELASTIC_JOB):
            gated[_pod_set(pod)].append(pod["metadata"]["name"])
        else:
            running[_pod_set(pod)] += 1
    return pods_to_release(counts(active["spec"]["podSets"]), gated, running)


def released(pod: Manifest, active: Manifest) -> Manifest:
    """Return a pod without the gate, and with the node selector that checks gave to its set."""
    gates = [gate for gate in pod["spec"]["schedulingGates"] if gate["name"] != ELASTIC_JOB]
    selector = dict(pod["spec"].get("nodeSelector") or {})
    for check in active["status"].get("admissionChecks") or ():
        for update in check.get("podSetUpdates") or ():
            if update["name"] == _pod_set(pod):
                selector |= update.get("nodeSelector") or {}
    rest = {field: value for field, value in pod["spec"].items() if field not in ("schedulingGates", "nodeSelector")}
    kept = {"schedulingGates": gates, "nodeSelector": selector}
    return {**pod, "spec": {**rest, **{field: value for field, value in kept.items() if value}}}


def _pod_set(pod: Manifest) -> str:
    return job_fields.labels(pod).get(names.POD_SET, "")


def _slice_of(pod: Pod) -> Iterable[str]:
    name = pod.metadata.annotations.get(SLICE_NAME)
    return [key_of(pod.namespace, name)] if name else []


def _job_of_slice(workload: kueue.QueuedWorkload) -> Iterable[str]:
    owner = workload.owner
    if owner is not None and workload.metadata.annotations.get(ELASTIC_JOB) == "true":
        yield owner_key(owner.kind, workload.namespace, owner.name)

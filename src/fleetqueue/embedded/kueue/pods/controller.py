"""Keep pods that stand alone and their Workloads together: a pod waits at the gate until its Workload is admitted.

Reads:   the pods that Kueue manages, Workload, ResourceFlavor, AdmissionCheck, Namespace, the priority classes
Writes:  pods (gates, node selectors, tolerations, labels, finalizers; deletes them), their status, Workload, Events
Mirrors: Kueue pkg/controller/jobs/pod
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace, Pod
from fleetqueue.api.kueue_pods import (
    ADMISSION_GATE,
    MANAGED_PODS,
    POD,
    SUSPENDING_PARENT,
    group_name,
    is_deleting,
    is_gated,
)
from fleetqueue.api.meta import Object, key_of, split_key
from fleetqueue.api.priority_classes import PriorityClass, WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import WORKLOAD_DELETED, StopCause
from fleetqueue.embedded.kueue.jobs.job_writes import flavors_of
from fleetqueue.embedded.kueue.jobs.life import JobLife
from fleetqueue.embedded.kueue.jobs.owned_workloads import BY_PREBUILT, OwnedWorkloads, named_beforehand
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, FlavorMissing, of_admission
from fleetqueue.embedded.kueue.jobs.workload_matching import WorkloadMatching
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.pods.pod_writes import PodWrites, runs_elsewhere
from fleetqueue.embedded.kueue.pods.single_pods import SinglePods, is_stopped
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.workload_state import facts
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.metrics import Metrics

LAG_SECONDS = 1.0
"""The change that we wait for wakes us; this only guards against a watch that broke."""


class PodReconciler(Controller):
    name = "pods"
    concurrency = 4

    def __init__(self, hub: Cluster, metrics: Metrics, settings: KueueSettings, kueue_metrics: KueueMetrics) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        events, single_pods = SeriesRecorder(hub.client, f"{POD}-kueue-controller"), SinglePods()
        self.pods = PodWrites(hub, events)
        self.jobs = SinglePodWriter(hub, self.pods, kueue_metrics)
        self.workloads = WorkloadWrites(hub, events)
        self.owned = OwnedWorkloads(hub, Pod)
        matching = WorkloadMatching(hub, single_pods, settings, self.jobs, self.workloads, events)
        self.life = JobLife(hub, settings, single_pods, self.jobs, matching, self.workloads, kueue_metrics)
        self.store = hub.informer(Pod, labels=MANAGED_PODS).store
        self.store.add_index(BY_PREBUILT, named_beforehand)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod, labels=MANAGED_PODS).subscribe(self.pods.forget_gone)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(Pod, _alone, labels=MANAGED_PODS)
        yield Watch(kueue.QueuedWorkload, self._pods_of, facts=facts)
        yield from read_by_pods()

    async def reconcile(self, key: str) -> None:
        pod, owned = self.store.raw(key), self.owned.of(*split_key(key))
        if pod is None or is_deleting(pod):
            for workload in owned:
                await self.workloads.orphan(workload)
            if pod is not None:
                await self.pods.let_go(pod)
            return
        if group_name(pod["metadata"]):
            return
        if self.pods.is_behind([pod]):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own write yet")
        if is_managed(self.hub, self.settings, pod):
            await self.life.go_through(pod, owned)

    def _pods_of(self, workload: kueue.QueuedWorkload) -> Iterable[str]:
        """Wake the pod of a Workload, and who waits for it by its name."""
        owner = workload.owner
        if owner is not None and (owner.api_version, owner.kind) == ("v1", "Pod"):
            yield key_of(workload.namespace, owner.name)
        for pod in self.store.by_index(BY_PREBUILT, workload.key):
            if not _group(pod):
                yield pod.key


class SinglePodWriter:
    def __init__(self, hub: Cluster, pods: PodWrites, kueue_metrics: KueueMetrics) -> None:
        self.hub = hub
        self.pods = pods
        self.kueue_metrics = kueue_metrics

    def view(self, job: Manifest) -> Object:
        return Pod.view(job)

    async def start(self, job: Manifest, workload: Manifest) -> str:
        if not is_gated(job) or runs_elsewhere(self.hub, workload):
            return ""
        try:
            infos = of_admission(workload, flavors_of(self.hub))
            if len(infos) != 1:
                return f"invalid podset infos: expecting 1 pod set got {len(infos)}"
            await self.pods.ungate(job, infos[0], admitted_by(workload))
            self.kueue_metrics.gate_removed(ADMISSION_GATE, kueue.QueuedWorkload.view(workload), clock.now())
        except CannotStart as error:
            return str(error)
        except FlavorMissing as error:
            raise errors.NotFound(str(error)) from None
        return ""

    async def stop(self, job: Manifest, workload: Manifest | None, cause: StopCause) -> Manifest:
        if not is_stopped(job) or cause.reason == WORKLOAD_DELETED:
            await self.pods.end(job, cause)
        return job

    async def finalize(self, job: Manifest) -> None:
        await self.pods.let_go(job)

    async def delete(self, job: Manifest, why: str) -> None:
        await self.pods.delete(job)
        await self.say(job, "Deleted", why)

    async def say(self, job: Manifest, reason: str, note: str) -> None:
        await self.pods.say(job, reason, note)


def read_by_pods() -> Iterable[Watch[Any]]:
    """Return what is read beside pods and Workloads; it wakes nobody: who lacks it tries again by itself."""
    kinds: list[type[Any]] = [PriorityClass, WorkloadPriorityClass, Namespace]
    kinds += [kueue.ResourceFlavor, kueue.AdmissionCheck]
    return [Watch(kind) for kind in kinds]


def is_managed(hub: Cluster, settings: KueueSettings, pod: Manifest) -> bool:
    """Tell whether a pod is one that Kueue admits."""
    if settings.only_pods_of_parents and SUSPENDING_PARENT not in job_fields.annotations(pod):
        return False
    namespace = hub.get(Namespace, pod["metadata"]["namespace"])
    if namespace is None or not settings.namespaces.matches(namespace.metadata.labels):
        return False
    return settings.manages_jobs_without_queue or bool(job_fields.queue_name(pod))


def admitted_by(workload: Manifest) -> str:
    return f"Admitted by clusterQueue {workload['status']['admission']['clusterQueue']}"


def _alone(pod: Pod) -> Iterable[str]:
    return () if _group(pod) else (pod.key,)


def _group(pod: Pod) -> str:
    return group_name({"annotations": pod.metadata.annotations, "labels": pod.metadata.labels})

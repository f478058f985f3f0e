"""Keep groups of pods and their Workloads together: none of a group runs before all of it was admitted.

Reads:   the pods that Kueue manages, Workload, ResourceFlavor, AdmissionCheck, Namespace, the priority classes
Writes:  pods (gates, node selectors, tolerations, labels, finalizers; deletes them), their status, Workload, Events
Mirrors: Kueue pkg/controller/jobs/pod

Keys are the namespaces and names of groups, which their Workloads bear, too.
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_pods import (
    ADMISSION_GATE,
    GROUP_WORKLOAD,
    MANAGED_PODS,
    POD,
    group_name,
    is_deleting,
    is_gated,
)
from fleetqueue.api.meta import Object, key_of, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import WORKLOAD_DELETED, StopCause
from fleetqueue.embedded.kueue.jobs.job_writes import flavors_of
from fleetqueue.embedded.kueue.jobs.life import JobLife
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, FlavorMissing, of_admission
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.pods.controller import LAG_SECONDS, admitted_by, is_managed, read_by_pods
from fleetqueue.embedded.kueue.pods.group_matching import GroupMatching
from fleetqueue.embedded.kueue.pods.groups import PodGroup, PodGroups
from fleetqueue.embedded.kueue.pods.pod_writes import PodWrites, runs_elsewhere
from fleetqueue.embedded.kueue.pods.roles import role_of
from fleetqueue.embedded.kueue.pods.single_pods import is_stopped
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.workload_state import facts
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.store import Store

BY_GROUP: Final = "pod group"


class PodGroupReconciler(Controller):
    name = "pod groups"
    concurrency = 4

    def __init__(self, hub: Cluster, metrics: Metrics, settings: KueueSettings, kueue_metrics: KueueMetrics) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        self.store = hub.informer(Pod, labels=MANAGED_PODS).store
        self.store.add_index(BY_GROUP, _group)
        events = SeriesRecorder(hub.client, f"{POD}-kueue-controller")
        self.pods = PodWrites(hub, events)
        self.workloads = WorkloadWrites(hub, events)
        jobs = PodGroupWriter(hub, self.pods, self.store, kueue_metrics)
        matching = GroupMatching(hub, settings, self.pods, jobs, self.workloads, events)
        self.life = JobLife(hub, settings, PodGroups(), jobs, matching, self.workloads, kueue_metrics)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod, labels=MANAGED_PODS).subscribe(self.pods.forget_gone)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(Pod, _group, labels=MANAGED_PODS)
        yield Watch(kueue.QueuedWorkload, self._groups_of, facts=facts)
        yield from read_by_pods()

    async def reconcile(self, key: str) -> None:
        pods, workload = pods_of_group(self.store, key), self.hub.informer(kueue.QueuedWorkload).store.raw(key)
        owned = [] if workload is None else [workload]
        if not pods:
            if workload is not None and _is_of_group(workload):
                await self.workloads.orphan(workload)
            return
        if self.pods.is_behind(pods):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own write yet")
        if is_managed(self.hub, self.settings, pods[0]):
            await self.life.go_through(PodGroup(split_key(key)[1], pods), owned)

    def _groups_of(self, workload: kueue.QueuedWorkload) -> Iterable[str]:
        """Wake the group of a Workload, and one that waits until somebody else's Workload of its name is gone."""
        if GROUP_WORKLOAD in workload.metadata.annotations or self.store.by_index(BY_GROUP, workload.key):
            yield workload.key


class PodGroupWriter:
    def __init__(self, hub: Cluster, pods: PodWrites, store: Store[Pod], kueue_metrics: KueueMetrics) -> None:
        self.hub = hub
        self.pods = pods
        self.store = store
        self.kueue_metrics = kueue_metrics

    def view(self, job: PodGroup) -> Object:
        return Pod.view(job.first)

    async def start(self, job: PodGroup, workload: Manifest) -> str:
        gated = [pod for pod in job.pods if is_gated(pod)]
        if not gated or runs_elsewhere(self.hub, workload) or job.is_still_coming:
            return ""
        try:
            infos = {info.name: info for info in of_admission(workload, flavors_of(self.hub))}
            view = kueue.QueuedWorkload.view(workload)
            for pod in gated:
                role = role_of(pod)
                if role not in infos:
                    return f"invalid podset infos: podSetInfo with the name '{role}' is not found"
                await self.pods.ungate(pod, infos[role], admitted_by(workload))
                self.kueue_metrics.gate_removed(ADMISSION_GATE, view, clock.now(), is_group=True)
        except CannotStart as error:
            return str(error)
        except FlavorMissing as error:
            raise errors.NotFound(str(error)) from None
        return ""

    async def stop(self, job: PodGroup, workload: Manifest | None, cause: StopCause) -> PodGroup:
        if cause.reason == WORKLOAD_DELETED:
            await self.finalize(job)
        for pod in job.pods:
            if not is_deleting(pod) and (cause.reason == WORKLOAD_DELETED or not is_stopped(pod)):
                await self.pods.end(pod, cause)
        return job

    async def finalize(self, job: PodGroup) -> None:
        """Let go of all pods of a group, also of those that do not count any more."""
        namespace = job.first["metadata"]["namespace"]
        for pod in pods_of_group(self.store, key_of(namespace, job.name)):
            await self.pods.let_go(pod)

    async def delete(self, job: PodGroup, why: str) -> None:
        await self.finalize(job)
        for pod in job.pods:
            await self.pods.delete(pod)
        await self.say(job, "Deleted", why)

    async def say(self, job: PodGroup, reason: str, note: str) -> None:
        for pod in job.pods:
            await self.pods.say(pod, reason, note)


def pods_of_group(store: Store[Pod], key: str) -> tuple[Manifest, ...]:
    """Return the pods of a group, in the order of their names."""
    found = (store.raw(view.key) for view in sorted(store.by_index(BY_GROUP, key), key=lambda view: view.name))
    return tuple(pod for pod in found if pod is not None)


def _group(pod: Pod) -> Iterable[str]:
    name = group_name({"annotations": pod.metadata.annotations, "labels": pod.metadata.labels})
    return (key_of(pod.namespace, name),) if name else ()


def _is_of_group(workload: Manifest) -> bool:
    """Tell whether a Workload is that of a group, and not merely called so."""
    return GROUP_WORKLOAD in job_fields.annotations(workload) or job_fields.controller(workload) is None

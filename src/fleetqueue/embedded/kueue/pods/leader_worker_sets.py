"""Keep LeaderWorkerSets and their Workloads together: one Workload stands for the pods of one group.

The pods themselves are admitted as groups, which bear the names of the Workloads.

Reads:   LeaderWorkerSet, its StatefulSets and pods, Workload, the priority classes
Writes:  Workload, pods (labels and annotations, by which they are groups; gates), Events
Mirrors: Kueue pkg/controller/jobs/leaderworkerset

A pod whose StatefulSet is not to be seen waits; Kueue lets it run. So does one that makes place for another revision,
where MultiKueue sends its Workload, or may come to: a worker runs it.
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.core_v1 import Namespace, Pod
from fleetqueue.api.kueue_pods import LEADER_WORKER_SET, SUSPENDING_PARENT, has_ended, is_deleting
from fleetqueue.api.leaderworkerset_v1 import GROUP_INDEX, SET_NAME, LeaderWorkerSet
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.priority_classes import PriorityClass, WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.ancestors import Ancestors
from fleetqueue.embedded.kueue.jobs.job_priorities import priority_of
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.pods import leader_worker_set_rules as rules
from fleetqueue.embedded.kueue.pods.parent_pods import is_outdated, ungated
from fleetqueue.embedded.kueue.pods.parent_workloads import is_owned_by, is_sent, workload_for
from fleetqueue.embedded.kueue.pods.pod_writes import QUEUES, PodWrites, runs_only_here
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.workload_state import facts
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

LAG_SECONDS: Final = 1.0
BY_SET: Final = "leader worker set"

log = Log("kueue")


class LeaderWorkerSetReconciler(Controller):
    name = "leader worker sets"
    concurrency = 2

    def __init__(self, hub: Cluster, metrics: Metrics, settings: KueueSettings, ancestors: Ancestors) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        self.ancestors = ancestors
        self.events = SeriesRecorder(hub.client, f"{LEADER_WORKER_SET}-kueue-controller")
        self.pods = PodWrites(hub, self.events)
        self.workloads = WorkloadWrites(hub, self.events)
        self.following = WorkloadFollowing(hub, LeaderWorkerSet, self.workloads, self.events)
        self.pod_store = hub.informer(Pod, labels=SET_NAME).store
        self.set_store = hub.informer(StatefulSet, labels=SET_NAME).store
        self.workload_store = hub.informer(kueue.QueuedWorkload).store
        self.pod_store.add_index(BY_SET, _set_of_pod)
        self.workload_store.add_index(BY_SET, _sets_of_workload)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod, labels=SET_NAME).subscribe(self.pods.forget_gone)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(LeaderWorkerSet, by_key)
        yield Watch(Pod, _set_of_pod, labels=SET_NAME)
        yield Watch(StatefulSet, _set_of_object, labels=SET_NAME)
        yield Watch(kueue.QueuedWorkload, _sets_of_workload, facts=facts)
        read: list[type[Any]] = [Namespace, PriorityClass, WorkloadPriorityClass, *QUEUES]
        for kind in read:
            yield Watch(kind)
        yield from self.ancestors.watches(besides=LeaderWorkerSet)

    async def reconcile(self, key: str) -> None:
        leader_worker_set = self.hub.informer(LeaderWorkerSet).store.raw(key)
        views = self.pod_store.by_index(BY_SET, key)
        pods = [raw for view in views if (raw := self.pod_store.raw(view.key)) is not None]
        if self.pods.is_behind(pods):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own write yet")
        if leader_worker_set is not None and self._is_managed(leader_worker_set):
            await self._bring_workloads(key, leader_worker_set)
        for pod in pods:
            await self._bring_pod(pod, leader_worker_set)

    async def _bring_workloads(self, key: str, leader_worker_set: Manifest) -> None:
        changes = rules.workload_changes(leader_worker_set, self._workloads(key, leader_worker_set))
        for index in changes.create:
            await self._create(leader_worker_set, index)
        for workload in changes.update:
            await self._follow(leader_worker_set, workload)
        for workload in changes.delete:
            await self.workloads.delete(workload)

    def _workloads(self, key: str, leader_worker_set: Manifest) -> list[Manifest]:
        """Return the Workloads of a LeaderWorkerSet; those that came from the hub have no owner here."""
        views = self.workload_store.by_index(BY_SET, key)
        found = [raw for view in views if (raw := self.workload_store.raw(view.key)) is not None]
        return [raw for raw in found if is_owned_by(raw, leader_worker_set)]

    async def _create(self, leader_worker_set: Manifest, index: int) -> None:
        """Make the Workload that the pods of a group will find."""
        sets, name = rules.pod_sets(leader_worker_set), rules.workload_name(leader_worker_set, index)
        priority = priority_of(self.hub, leader_worker_set, sets)
        labels = job_fields.labels(leader_worker_set)
        made = workload_for(
            LeaderWorkerSet,
            leader_worker_set,
            name,
            sets,
            priority,
            labels={key: labels[key] for key in self.settings.copied_labels if key in labels},
            annotations=rules.component(index),
        )
        await self.hub.client.create(kueue.Workload.resource, made)
        key = key_of(made["metadata"]["namespace"], name)
        log.info("workload created", workload=key)
        await self.events.normal(LeaderWorkerSet.view(leader_worker_set), "CreatedWorkload", f"Created Workload: {key}")

    async def _follow(self, leader_worker_set: Manifest, workload: Manifest) -> None:
        """Let a Workload know its queue, its priority and what gates it."""
        if not is_sent(leader_worker_set):
            workload = await self.following.follow(leader_worker_set, workload)
            await self.following.follow_queue(leader_worker_set, workload)

    async def _bring_pod(self, pod: Manifest, leader_worker_set: Manifest | None) -> None:
        """Make a pod a member of its group; one that has ended, or makes place for another revision, is let go."""
        owner = job_fields.controller(pod)
        key = key_of(pod["metadata"]["namespace"], owner["name"] if owner is not None else "")
        stateful_set = self.set_store.raw(key)
        if leader_worker_set is None or has_ended(pod) or is_deleting(pod):
            await self.pods.let_go(pod)
        elif stateful_set is not None and self._makes_place(pod, stateful_set, leader_worker_set):
            await self.pods.change(pod, ungated(pod))
        elif stateful_set is not None:
            await self.pods.change(pod, rules.marked(pod, leader_worker_set))

    def _makes_place(self, pod: Manifest, stateful_set: Manifest, leader_worker_set: Manifest) -> bool:
        if not is_outdated(pod, stateful_set):
            return False
        name = rules.workload_name(leader_worker_set, job_fields.labels(pod).get(GROUP_INDEX, ""))
        return runs_only_here(self.hub, self.workload_store.raw(key_of(pod["metadata"]["namespace"], name)))

    def _is_managed(self, leader_worker_set: Manifest) -> bool:
        if is_deleting(leader_worker_set):
            return False
        namespace = self.hub.get(Namespace, leader_worker_set["metadata"]["namespace"])
        if namespace is None or not self.settings.namespaces.matches(namespace.metadata.labels):
            return False
        if self.ancestors.is_below_managed(leader_worker_set):
            return False
        return self.settings.manages_jobs_without_queue or bool(job_fields.queue_name(leader_worker_set))


def _set_of_pod(pod: Pod) -> Iterable[str]:
    return _set_of_object(pod) if pod.metadata.annotations.get(SUSPENDING_PARENT) == LEADER_WORKER_SET else ()


def _set_of_object(obj: Object) -> Iterable[str]:
    return (key_of(obj.namespace, obj.metadata.labels[SET_NAME]),)


def _sets_of_workload(workload: kueue.QueuedWorkload) -> Iterable[str]:
    for owner in workload.metadata.owner_references:
        if owner.kind == LeaderWorkerSet.resource.kind:
            yield key_of(workload.namespace, owner.name)

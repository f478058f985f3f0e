"""Keep StatefulSets and their Workloads together: one Workload stands for all pods of a StatefulSet.

The pods themselves are admitted as a group, which bears the name of the Workload.

Reads:   StatefulSet, Pod, Workload, the priority classes
Writes:  Workload, pods (labels and annotations, by which they are a group; gates), Events
Mirrors: Kueue pkg/controller/jobs/statefulset

A pod that makes place for another revision waits where MultiKueue sends its Workload, or may come to: a worker runs it.
Kueue lets it run here, too.
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.core_v1 import Namespace, Pod
from fleetqueue.api.kueue_pods import STATEFUL_SET, SUSPENDING_PARENT, has_ended, is_deleting
from fleetqueue.api.meta import key_of
from fleetqueue.api.priority_classes import PriorityClass, WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import messages
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.ancestors import Ancestors
from fleetqueue.embedded.kueue.jobs.job_priorities import priority_of
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.pods import stateful_set_rules as rules
from fleetqueue.embedded.kueue.pods.parent_pods import is_outdated, ungated
from fleetqueue.embedded.kueue.pods.parent_workloads import (
    is_owned_by,
    is_sent,
    owned_by,
    owner_annotations,
    workload_for,
)
from fleetqueue.embedded.kueue.pods.pod_writes import QUEUES, PodWrites, runs_only_here
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.workload_state import facts, is_on_hold
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

LAG_SECONDS: Final = 1.0
BY_STATEFUL_SET: Final = "stateful set"

log = Log("kueue")


class StatefulSetReconciler(Controller):
    name = "stateful sets"
    concurrency = 2

    def __init__(self, hub: Cluster, metrics: Metrics, settings: KueueSettings, ancestors: Ancestors) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        self.ancestors = ancestors
        self.events = SeriesRecorder(hub.client, f"{STATEFUL_SET}-kueue-controller")
        self.pods = PodWrites(hub, self.events)
        self.workloads = WorkloadWrites(hub, self.events)
        self.following = WorkloadFollowing(hub, StatefulSet, self.workloads, self.events)
        self.store = hub.informer(Pod).store
        self.store.add_index(BY_STATEFUL_SET, _stateful_sets)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Pod).subscribe(self.pods.forget_gone)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(StatefulSet, by_key)
        yield Watch(Pod, _stateful_sets)
        yield Watch(kueue.QueuedWorkload, self._set_of, facts=facts)
        read: list[type[Any]] = [Namespace, PriorityClass, WorkloadPriorityClass, *QUEUES]
        for kind in read:
            yield Watch(kind)
        yield from self.ancestors.watches(besides=StatefulSet)

    async def reconcile(self, key: str) -> None:
        stateful_set = self.hub.informer(StatefulSet).store.raw(key)
        views = self.store.by_index(BY_STATEFUL_SET, key)
        pods = [raw for view in views if (raw := self.store.raw(view.key)) is not None]
        if self.pods.is_behind(pods):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own write yet")
        for pod in pods:
            await self._bring_pod(pod, stateful_set)
        if stateful_set is not None and not is_deleting(stateful_set) and self._is_managed(stateful_set):
            await self._bring_workload(stateful_set)

    async def _bring_pod(self, pod: Manifest, stateful_set: Manifest | None) -> None:
        """Make a pod a member of the group; one that has ended, or makes place for another revision, is let go."""
        if has_ended(pod) or is_deleting(pod):
            await self.pods.let_go(pod)
        elif stateful_set is not None and self._makes_place(pod, stateful_set):
            await self.pods.change(pod, ungated(pod))
        elif stateful_set is not None:
            without_queue = self.settings.manages_jobs_without_queue
            await self.pods.change(pod, rules.marked(pod, stateful_set, without_queue=without_queue))

    def _makes_place(self, pod: Manifest, stateful_set: Manifest) -> bool:
        return is_outdated(pod, stateful_set) and runs_only_here(self.hub, self._workload(stateful_set))

    def _workload(self, stateful_set: Manifest) -> Manifest | None:
        key = key_of(stateful_set["metadata"]["namespace"], rules.workload_name(stateful_set))
        return self.hub.informer(kueue.QueuedWorkload).store.raw(key)

    async def _bring_workload(self, stateful_set: Manifest) -> None:
        workload, count = self._workload(stateful_set), rules.replicas(stateful_set)
        if workload is None:
            if count and not is_sent(stateful_set):
                await self._create(stateful_set)
            return
        if count:
            workload = await self._followed(stateful_set, workload)
        view = kueue.QueuedWorkload.view(workload)
        if not count and view.is_true(kueue.QUOTA_RESERVED) and view.is_live and view.spec.active:
            await self.workloads.put_on_hold(workload, messages.SCALED_TO_ZERO)
        elif count and is_on_hold(view):
            await self.workloads.end_hold(workload)

    async def _create(self, stateful_set: Manifest) -> None:
        """Make the Workload that the pods will find."""
        sets = rules.pod_sets(stateful_set)
        priority = priority_of(self.hub, stateful_set, sets)
        name = rules.workload_name(stateful_set)
        made = workload_for(StatefulSet, stateful_set, name, sets, priority, labels={}, annotations={})
        await self.hub.client.create(kueue.Workload.resource, made)
        key = key_of(made["metadata"]["namespace"], name)
        log.info("workload created", workload=key)
        await self.events.normal(StatefulSet.view(stateful_set), "CreatedWorkload", f"Created Workload: {key}")

    async def _followed(self, stateful_set: Manifest, workload: Manifest) -> Manifest:
        """Let a Workload know its owner, its queue and what gates it."""
        metadata: dict[str, Any] = {}
        if not is_owned_by(workload, stateful_set):
            owners = workload["metadata"].get("ownerReferences") or []
            metadata["ownerReferences"] = [*owners, owned_by(StatefulSet, stateful_set)]
            metadata["annotations"] = owner_annotations(StatefulSet, stateful_set)
        queue = job_fields.queue_name(stateful_set)
        spec = {"queueName": queue or None} if workload["spec"].get("queueName", "") != queue else {}
        if metadata or spec:
            workload = await self.workloads.change(workload, metadata=metadata, spec=spec)
        return await self.following.follow_gate(stateful_set, workload)

    def _is_managed(self, stateful_set: Manifest) -> bool:
        if rules.is_of_another(stateful_set):
            return False
        namespace = self.hub.get(Namespace, stateful_set["metadata"]["namespace"])
        if namespace is None or not self.settings.namespaces.matches(namespace.metadata.labels):
            return False
        if self.ancestors.is_below_managed(stateful_set):
            return False
        return self.settings.manages_jobs_without_queue or bool(job_fields.queue_name(stateful_set))

    def _set_of(self, workload: kueue.QueuedWorkload) -> Iterable[str]:
        """Wake the StatefulSet of a Workload that was deleted, or came from the hub."""
        for owner in workload.metadata.owner_references:
            if owner.kind == StatefulSet.resource.kind:
                yield key_of(workload.namespace, owner.name)


def _stateful_sets(pod: Pod) -> Iterable[str]:
    owner = pod.controller
    is_set = owner is not None and (owner.api_version, owner.kind) == ("apps/v1", "StatefulSet")
    if owner is not None and is_set and pod.metadata.annotations.get(SUSPENDING_PARENT) == STATEFUL_SET:
        yield key_of(pod.namespace, owner.name)

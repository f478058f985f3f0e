"""Write how ClusterQueues, LocalQueues and Cohorts stand, and keep what is in use.

A ClusterQueue is kept until no Workload holds quota in it, a ResourceFlavor or AdmissionCheck until no ClusterQueue
names it, and a Topology until no ResourceFlavor does.

Reads:   ClusterQueue, LocalQueue, Cohort, ResourceFlavor, Topology, AdmissionCheck, and the scheduler's queue usage
Writes:  ClusterQueue status and finalizer, LocalQueue and Cohort status, the finalizers of ResourceFlavors, Topologies
         and AdmissionChecks
Mirrors: Kueue pkg/controller/core (clusterqueue, localqueue, cohort, resourceflavor, admissioncheck),
         pkg/controller/tas/topology_controller.go
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.api.meta import Object, replacement, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import queue_status
from fleetqueue.embedded.kueue.names import IN_USE
from fleetqueue.embedded.kueue.scheduling.admission_status import with_condition
from fleetqueue.embedded.kueue.scheduling.queue_usage import QueueUsage
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.workqueue import WorkQueue

GATHERING: Final = 1.0
"""Seconds in which changes of a queue's numbers are gathered before they are written."""
BY_CLUSTER_QUEUE: Final = "cluster queue"


class ClusterQueueController(Controller):
    name = "clusterqueues"

    def __init__(self, hub: Cluster, metrics: Metrics, queue_usage: QueueUsage) -> None:
        super().__init__(hub, metrics)
        self.queue_usage = queue_usage
        queue_usage.subscribe(self._told)

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(kueue.ClusterQueue, by_key, facts=_asked),)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(kueue.ClusterQueue).subscribe(lambda old, new: _look_soon(self.queue, new))

    async def reconcile(self, key: str) -> None:
        queue = self.hub.get(kueue.ClusterQueue, key)
        if queue is None:
            return
        usage = self.queue_usage.of_cluster_queue(key)
        if queue.is_deleting and not usage.reserving:
            await self.hub.remove_finalizer(queue, IN_USE)
            return
        if not queue.is_deleting and await self.hub.add_finalizer(queue, IN_USE):
            return  # the change wakes us
        condition = queue_status.activity(queue, self.queue_usage.problems(key))
        await _write(self.hub, queue, queue_status.standing(queue, usage), condition)

    def _told(self, kind: str, key: str) -> None:
        if kind == kueue.ClusterQueue.resource.kind:
            self.queue.add_after(key, GATHERING)


class LocalQueueController(Controller):
    name = "localqueues"

    def __init__(self, hub: Cluster, metrics: Metrics, queue_usage: QueueUsage) -> None:
        super().__init__(hub, metrics)
        self.queue_usage = queue_usage
        hub.informer(kueue.LocalQueue).store.add_index(BY_CLUSTER_QUEUE, lambda queue: (queue.spec.cluster_queue,))
        queue_usage.subscribe(self._told)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(kueue.LocalQueue, by_key, facts=_asked)
        yield Watch(kueue.ClusterQueue, self._leading_to, facts=lambda queue: (_asked(queue), queue.status.conditions))

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(kueue.LocalQueue).subscribe(lambda old, new: _look_soon(self.queue, new))

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        queue = self.hub.get(kueue.LocalQueue, name, namespace)
        if queue is None:
            return
        target = self.hub.get(kueue.ClusterQueue, queue.spec.cluster_queue)
        numbers = queue_status.local_standing(queue, target, self.queue_usage.of_local_queue(key))
        activity = queue_status.local_activity(queue, target)
        await _write(self.hub, queue, numbers | self._fair_sharing(queue, activity), activity)

    def _fair_sharing(self, queue: kueue.LocalQueue, activity: Condition) -> Manifest:
        """Return what the status tells of what was consumed; what is there stays while that is not sampled."""
        live: Manifest = (self.hub.raw(queue).get("status") or {}).get("fairSharing") or {}
        told = queue_status.consumed(live)
        sampled = self.queue_usage.sample(queue.key, told, clock.now()) if activity.is_true else None
        if sampled is None:
            return {"fairSharing": live} if live else {}
        sample, seconds = sampled
        self.queue.add_after(queue.key, seconds)
        return {"fairSharing": queue_status.admission_fair_sharing(sample)}

    def _told(self, kind: str, key: str) -> None:
        if kind == kueue.LocalQueue.resource.kind:
            self.queue.add_after(key, GATHERING)

    def _leading_to(self, target: kueue.ClusterQueue) -> Iterable[str]:
        return [queue.key for queue in self.hub.by_index(kueue.LocalQueue, BY_CLUSTER_QUEUE, target.name)]


class CohortController(Controller):
    """Writes the share of each Cohort in what is borrowed, where shares are fair."""

    name = "cohorts"

    def __init__(self, hub: Cluster, metrics: Metrics, queue_usage: QueueUsage) -> None:
        super().__init__(hub, metrics)
        self.queue_usage = queue_usage
        queue_usage.subscribe(self._told)

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(kueue.Cohort, by_key),)

    async def reconcile(self, key: str) -> None:
        cohort = self.hub.get(kueue.Cohort, key)
        if cohort is None:
            return
        share = self.queue_usage.share_of_cohort(key)
        live = self.hub.raw(cohort).get("status") or {}
        others = {field: value for field, value in live.items() if field != "fairSharing"}
        patch = replacement(live, others | ({} if share is None else queue_status.fair_sharing(share)))
        if patch:
            body = {"metadata": cohort.precondition, "status": patch}
            await self.hub.client.merge(kueue.Cohort.resource, key, "", body, subresource="status")

    def _told(self, kind: str, key: str) -> None:
        if kind == kueue.ClusterQueue.resource.kind:
            for name in self.queue_usage.cohorts_above(key):
                self.queue.add_after(name, GATHERING)


def _asked(queue: Object) -> tuple[Any, ...]:
    """Return all but the numbers, which are written all the time, mostly by ourselves."""
    metadata = queue.metadata
    return metadata.generation, metadata.deletion_timestamp, metadata.finalizers


def _look_soon(work: WorkQueue, changed: Object | None) -> None:
    """Look at a status that was written: what is wrong in it is written anew, with what has changed meanwhile."""
    if changed is not None:
        work.add_after(changed.key, GATHERING)


async def _write(hub: Cluster, queue: Object, numbers: Manifest, condition: Condition) -> None:
    """Bring a queue's status to what is wanted; conditions of others stay."""
    raw = hub.raw(queue)
    live: Manifest = raw.get("status") or {}
    conditions = {"conditions": live.get("conditions") or []}
    generation = queue.metadata.generation
    updated_conditions = with_condition(
        conditions, condition.type, condition.status, condition.reason, condition.message, generation, clock.now()
    )
    patch = replacement(live, {**numbers, **updated_conditions})
    if patch:
        body = {"metadata": queue.precondition, "status": patch}
        await hub.client.merge(queue.resource, queue.name, queue.namespace, body, subresource="status")


BY_FLAVOR: Final = "flavor"
BY_CHECK: Final = "check"
BY_TOPOLOGY: Final = "topology"


class InUseController(Controller):
    """Holds objects of one kind that objects of another one name, as a rule ClusterQueues."""

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        kind: type[Any],
        index: str,
        named: Callable[[Any], Iterable[str]],
        users: type[Any] = kueue.ClusterQueue,
    ) -> None:
        super().__init__(hub, metrics)
        self.name = f"{kind.resource.plural}-in-use"
        self.kind = kind
        self.index = index
        self.named = named
        self.users = users
        hub.informer(users).store.add_index(index, named)

    def watches(self) -> Iterable[Watch[Any]]:
        return Watch(self.kind, by_key), Watch(self.users, self.named, facts=self._facts)

    def _facts(self, user: Object) -> list[str]:
        return [*self.named(user)]

    async def reconcile(self, key: str) -> None:
        obj = self.hub.get(self.kind, key)
        if obj is None:
            return
        if not obj.is_deleting:
            await self.hub.add_finalizer(obj, IN_USE)
        elif not self.hub.by_index(self.users, self.index, key):
            await self.hub.remove_finalizer(obj, IN_USE)


def flavors_in_use(hub: Cluster, metrics: Metrics) -> InUseController:
    return InUseController(hub, metrics, kueue.ResourceFlavor, BY_FLAVOR, lambda queue: queue.flavors)


def checks_in_use(hub: Cluster, metrics: Metrics) -> InUseController:
    return InUseController(hub, metrics, kueue.AdmissionCheck, BY_CHECK, lambda queue: queue.checks)


def topologies_in_use(hub: Cluster, metrics: Metrics) -> InUseController:
    return InUseController(hub, metrics, Topology, BY_TOPOLOGY, _topology_of, kueue.ResourceFlavor)


def _topology_of(flavor: kueue.ResourceFlavor) -> tuple[str, ...]:
    return (flavor.spec.topology_name,) if flavor.spec.topology_name else ()

"""Write how ClusterQueues and LocalQueues stand, and keep a ClusterQueue until nobody holds quota in it.

Reads:   ClusterQueue, LocalQueue, and the scheduler's queue usage
Writes:  ClusterQueue status and finalizer, LocalQueue status
Mirrors: Kueue pkg/controller/core (clusterqueue, localqueue)

Left out: the status of Cohorts, which only tells of fair sharing.
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, replacement, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import queue_status
from fleetqueue.embedded.kueue.measures import LifeMeasures
from fleetqueue.embedded.kueue.names import IN_USE
from fleetqueue.embedded.kueue.scheduling.admission_status import with_condition
from fleetqueue.embedded.kueue.scheduling.measures import Measures
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

    def __init__(
        self, hub: Cluster, metrics: Metrics, queue_usage: QueueUsage, *, measures: Measures, life: LifeMeasures
    ) -> None:
        super().__init__(hub, metrics)
        self.queue_usage = queue_usage
        self.measures = measures
        self.life = life
        queue_usage.subscribe(self._told)

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(kueue.ClusterQueue, by_key, facts=_asked),)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(kueue.ClusterQueue).subscribe(lambda old, new: _look_soon(self.queue, new))

    async def reconcile(self, key: str) -> None:
        queue = self.hub.get(kueue.ClusterQueue, key)
        if queue is None:
            self.measures.forget_queue(key)
            self.life.forget_queue(key)
            return
        usage = self.queue_usage.of_cluster_queue(key)
        if queue.is_deleting and not usage.reserving:
            await self.hub.remove_finalizer(queue, IN_USE)
            return
        if not queue.is_deleting and await self.hub.add_finalizer(queue, IN_USE):
            return  # the change wakes us
        told = queue_status.activity(queue, self.queue_usage.problems(key))
        status = "terminating" if queue.is_deleting else "active" if told.is_true else "pending"
        self.life.of_queue(key, usage, status)
        await _write(self.hub, queue, queue_status.standing(queue, usage), told)

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
        await _write(self.hub, queue, numbers, queue_status.local_activity(queue, target))

    def _told(self, kind: str, key: str) -> None:
        if kind == kueue.LocalQueue.resource.kind:
            self.queue.add_after(key, GATHERING)

    def _leading_to(self, target: kueue.ClusterQueue) -> Iterable[str]:
        return [queue.key for queue in self.hub.by_index(kueue.LocalQueue, BY_CLUSTER_QUEUE, target.name)]


def _asked(queue: Object) -> tuple[Any, ...]:
    """Return all but the numbers, which are written all the time, mostly by ourselves."""
    metadata = queue.metadata
    return metadata.generation, metadata.deletion_timestamp, metadata.finalizers


def _look_soon(work: WorkQueue, changed: Object | None) -> None:
    """Look at a status that was written: what is wrong in it is written anew, with what has changed meanwhile."""
    if changed is not None:
        work.add_after(changed.key, GATHERING)


async def _write(hub: Cluster, queue: Object, numbers: Manifest, told: Condition) -> None:
    """Bring a queue's status to what is wanted; conditions of others stay."""
    raw = hub.informer(type(queue)).store.raw(queue.key) or {}
    live: Manifest = raw.get("status") or {}
    conditions = {"conditions": live.get("conditions") or []}
    generation = queue.metadata.generation
    said = with_condition(conditions, told.type, told.status, told.reason, told.message, generation, clock.now())
    patch = replacement(live, {**numbers, **said})
    if patch:
        body = {"metadata": queue.precondition, "status": patch}
        await hub.client.merge(queue.resource, queue.name, queue.namespace, body, subresource="status")

"""Keep Workloads right beside their scheduling: checks, evictions, deactivation, deadlines, the end.

Reads:   Workload, LocalQueue, ClusterQueue, and whether the scheduler finds a ClusterQueue fit to admit
Writes:  Workload status (as `kueue-admission`), its checks, its `spec.active`, its finalizer; deletes old ones; Events
Mirrors: Kueue pkg/controller/core/workload_controller.go
"""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import NORMAL
from fleetqueue.api.meta import split_key
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.names import IN_USE, WORKLOAD_CONTROLLER
from fleetqueue.embedded.kueue.queues import BY_CLUSTER_QUEUE
from fleetqueue.embedded.kueue.scheduling.admission_status import is_first_eviction
from fleetqueue.embedded.kueue.scheduling.queue_usage import QueueUsage
from fleetqueue.embedded.kueue.scheduling.workload_info import holds_quota, local_queue
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.workload_lifecycle import decide
from fleetqueue.embedded.kueue.workload_state import Queues, WorkloadState, WorkloadStep, facts
from fleetqueue.rules.workload_admission import applied_over
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import apply_admission

BY_LOCAL_QUEUE: Final = "local queue"

Q = TypeVar("Q", kueue.LocalQueue, kueue.ClusterQueue)

log = Log("kueue")


class WorkloadController(Controller):
    name = "workloads"
    concurrency = 4

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        queue_usage: QueueUsage,
        *,
        kueue_metrics: KueueMetrics,
        settings: KueueSettings,
    ) -> None:
        super().__init__(hub, metrics)
        self.queue_usage = queue_usage
        self.kueue_metrics = kueue_metrics
        self.settings = settings
        self.events = SeriesRecorder(hub.client, WORKLOAD_CONTROLLER)
        self._open: dict[str, bool] = {}
        """Which ClusterQueues could admit when we last looked."""
        hub.informer(kueue.QueuedWorkload).store.add_index(BY_LOCAL_QUEUE, lambda view: (local_queue(view),))
        hub.informer(kueue.LocalQueue).store.add_index(BY_CLUSTER_QUEUE, lambda queue: (queue.spec.cluster_queue,))
        queue_usage.subscribe(self._told)

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(kueue.QueuedWorkload, by_key, facts=facts),)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(kueue.LocalQueue).subscribe(self._local_queue_changed)
        self.hub.informer(kueue.ClusterQueue).subscribe(self._cluster_queue_changed)
        self.hub.informer(kueue.QueuedWorkload).subscribe(self._count_end)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        view = self.hub.get(kueue.QueuedWorkload, name, namespace)
        raw = self.hub.cache(kueue.QueuedWorkload).raw(key)
        if view is None or raw is None:
            return
        state = WorkloadState(raw, view, self._around(view), self.settings, clock.now(), draw=_draw)
        step = decide(state)
        await self._take(state, step)
        if step.again_in is not None:
            raise errors.RetryLater(step.again_in, "a deadline is due then")

    async def _take(self, state: WorkloadState, step: WorkloadStep) -> None:
        view, client = state.view, self.hub.client
        metadata = view.precondition
        if step.status is not None:
            await apply_admission(client, applied_over(state.raw, step.status))
        if step.checks is not None:
            patch = {"metadata": metadata, "status": {"admissionChecks": [*step.checks] or None}}
            await client.merge(view.resource, view.name, view.namespace, patch, subresource="status")
        if step.deactivates:
            patch = {"metadata": metadata, "spec": {"active": False}}
            await client.merge(view.resource, view.name, view.namespace, patch)
        if step.releases:
            await self.hub.remove_finalizer(view, IN_USE)
        if step.deletes:
            await client.delete(view.resource, view.name, view.namespace, uid=view.uid)
        await self._tell(state, step)

    async def _tell(self, state: WorkloadState, step: WorkloadStep) -> None:
        for kind, reason, note in step.events:
            log.info("workload changed", workload=state.view.key, reason=reason, why=note)
            say = self.events.normal if kind == NORMAL else self.events.warning
            await say(state.view, reason, note)
        self._count(state, step)

    def _count(self, state: WorkloadState, step: WorkloadStep) -> None:
        view, now = state.view, state.now
        if view.status.admission is None:
            return
        queue, metrics = view.status.admission.cluster_queue, self.kueue_metrics
        if step.eviction is not None and step.status is not None:
            is_first = is_first_eviction(step.status, *step.eviction)
            metrics.evicted(view, queue, step.eviction, now, is_first=is_first)
        if step.admits:
            waited = state.since(kueue.QUOTA_RESERVED).total_seconds()
            metrics.admitted(view, queue, now, waited_for_checks=waited)

    def _around(self, view: kueue.Workload) -> Queues:
        queue = self.hub.get(kueue.LocalQueue, view.spec.queue_name, view.namespace)
        if queue is None or queue.spec.stop_policy != "None":
            return Queues(queue, None)
        target = self.hub.get(kueue.ClusterQueue, queue.spec.cluster_queue)
        return Queues(queue, target, target is not None and self._is_open(target))

    def _is_open(self, queue: kueue.ClusterQueue) -> bool:
        return not queue.is_deleting and not self.queue_usage.problems(queue.name)

    def _count_end(self, old: kueue.QueuedWorkload | None, new: kueue.QueuedWorkload | None) -> None:
        """Count that a Workload has finished, or that one which was evicted has given its quota back."""
        if old is None or new is None:
            return
        if new.is_finished and not old.is_finished:
            self.kueue_metrics.finished(new)
        evicted = conditions.find(new.status.conditions, kueue.EVICTED)
        if evicted is not None and evicted.last_transition_time is not None and _gave_back(old, new):
            assert old.status.admission is not None
            seconds = (clock.now() - evicted.last_transition_time).total_seconds()
            self.kueue_metrics.gave_back(old.status.admission.cluster_queue, evicted.reason, seconds)

    # Who is woken

    def _local_queue_changed(self, old: kueue.LocalQueue | None, new: kueue.LocalQueue | None) -> None:
        if changed := _other(old, new):
            self._wake_all_in(changed.key)

    def _cluster_queue_changed(self, old: kueue.ClusterQueue | None, new: kueue.ClusterQueue | None) -> None:
        if changed := _other(old, new):
            self._wake_all_of(changed.name)

    def _wake_all_in(self, key: str) -> None:
        for view in self.hub.by_index(kueue.QueuedWorkload, BY_LOCAL_QUEUE, key):
            self.wake(view.key)

    def _wake_all_of(self, name: str) -> None:
        for queue in self.hub.by_index(kueue.LocalQueue, BY_CLUSTER_QUEUE, name):
            self._wake_all_in(queue.key)

    def _told(self, kind: str, key: str) -> None:
        if kind != kueue.ClusterQueue.resource.kind:
            return
        is_open = not self.queue_usage.problems(key)
        if self._open.get(key) != is_open:
            self._open[key] = is_open
            self._wake_all_of(key)


def _draw() -> float:
    return clock.between(0.0, 1.0)


def _gave_back(old: kueue.Workload, new: kueue.Workload) -> bool:
    """Tell whether a Workload that held quota is evicted and waits now; one that is switched off waits for nothing."""
    waits = new.spec.active and not new.is_finished and not new.is_true(kueue.QUOTA_RESERVED)
    return holds_quota(old) and waits and new.is_true(kueue.EVICTED)


def _other(old: Q | None, new: Q | None) -> Q | None:
    """Return a queue that came, went, or says something else; its numbers are written all the time."""
    if old is not None and new is not None and (old.spec, old.is_deleting) == (new.spec, new.is_deleting):
        return None
    return new or old

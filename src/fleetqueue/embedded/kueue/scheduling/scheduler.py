"""Give quota to the Workloads that wait for it: cycle after cycle, one head of every ClusterQueue at a time.

A cycle runs when a Workload is to be tried, and again at once while cycles change something: one was admitted, became
inadmissible, or preempts. A head that stays in its queue without any of this, since its queue is strict or it waits for
those whom it preempted, is looked at again when something changes; the real scheduler looks every ten milliseconds.

Reads:   Workload, ClusterQueue, LocalQueue, Cohort, ResourceFlavor, AdmissionCheck, Namespace, LimitRange, RuntimeClass
Writes:  what `admission_writes` names
Mirrors: Kueue pkg/scheduler
Simplified: fair sharing, waiting for the pods of others and resource claims are not served.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

import msgspec

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import O, Object
from fleetqueue.api.pod_limits import LimitRange, RuntimeClass
from fleetqueue.embedded.kueue.metric_places import forget_gone
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.scheduling.admission_writes import IssuedPreemptions, Writer
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle, EntryStatus, SchedulingEntry
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.scheduling.pod_template_adjustments import summary
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

log = Log("kueue")


def listen(hub: Cluster, cache: Cache) -> None:
    """Follow all kinds that the cache holds; call it before the hub runs."""
    _hear(hub, kueue.ResourceFlavor, cache.set_flavor, cache.drop_flavor)
    _hear(hub, kueue.AdmissionCheck, cache.set_check, cache.drop_check)
    _hear(hub, kueue.Cohort, cache.set_cohort, cache.drop_cohort)
    _hear(hub, kueue.ClusterQueue, cache.set_cluster_queue, cache.drop_cluster_queue)
    _hear(hub, kueue.LocalQueue, cache.set_local_queue, cache.drop_local_queue)
    _hear(hub, kueue.QueuedWorkload, cache.set_workload, cache.drop_workload)
    _hear(hub, Namespace, lambda one: cache.set_namespace(one.name, one.metadata.labels), cache.drop_namespace)
    _hear(
        hub,
        RuntimeClass,
        lambda one: cache.set_overhead(one.name, one.overhead.pod_fixed),
        lambda key: cache.set_overhead(key, None),
    )
    hub.informer(LimitRange).subscribe(lambda old, new: _take_limits(hub, cache, old or new))


def _hear(hub: Cluster, kind: type[O], put: Callable[[O], Any], drop: Callable[[str], Any]) -> None:
    def on_change(old: O | None, new: O | None) -> None:
        if old is not None and (new is None or old.uid != new.uid):
            drop(old.key)
        if new is not None:
            take(new)

    def take(new: O) -> None:
        try:
            put(new)
        except (ValueError, msgspec.ValidationError) as error:
            # One odd object must not end the watch for all others; it counts as what it was before.
            log.warning("object cannot be read", kind=kind.resource.kind, key=new.key, error=error)

    hub.informer(kind).subscribe(on_change)


def _take_limits(hub: Cluster, cache: Cache, changed: Object | None) -> None:
    if changed is not None:
        cache.set_limits(changed.namespace, summary(hub.list(LimitRange, changed.namespace)))


CYCLE: Final = "cycle"
RETRY: Final = "retry "
"""The prefix of the keys of trees whose inadmissible Workloads are to be tried again."""


class KueueSchedulerController(Controller):
    name = "kueue-scheduler"

    def __init__(self, hub: Cluster, metrics: Metrics, cache: Cache, kueue_metrics: KueueMetrics) -> None:
        super().__init__(hub, metrics)
        self.cache = cache
        self.kueue_metrics = kueue_metrics
        self.writer = Writer(hub, cache, kueue_metrics)
        self._tasks: asyncio.TaskGroup | None = None
        self._number = 0

    def watches(self) -> Iterable[Watch[Any]]:
        return ()

    def subscribe(self) -> None:
        self.cache.on_pending = lambda: self.wake(CYCLE)
        self.cache.retry = self._retry_soon
        listen(self.hub, self.cache)
        forget_gone(self.hub, self.cache, self.kueue_metrics)

    async def work(self) -> None:
        """Work until cancelled; admissions are written while the next cycle is decided."""
        async with asyncio.TaskGroup() as self._tasks:
            await super().work()

    async def reconcile(self, key: str) -> None:
        if key.startswith(RETRY):
            self.cache.wake(key.removeprefix(RETRY))
        else:
            await self._cycle()

    async def _cycle(self) -> None:
        await self.writer.ready()
        heads = self.cache.heads()
        if not heads:
            return
        started = clock.monotonic()
        self._number += 1
        entries = self._decide(heads)
        admitted = [entry for entry in entries if entry.status is EntryStatus.ADMITTED]
        for entry in admitted:
            self.writer.assume(entry)
        for entry in admitted:
            await self._meanwhile(self.writer.admit(entry))
        waiting = [entry for entry in entries if entry.status is not EntryStatus.ADMITTED]
        comes_forward, problems = await self._put_back(waiting)
        self._measure_cycle(entries, clock.monotonic() - started)
        if admitted or comes_forward:
            self.wake(CYCLE)
        if problems:
            raise problems[0]  # those are in their queues again, and are tried again later and later

    def _decide(self, heads: Sequence[WorkloadInfo]) -> list[SchedulingEntry]:
        try:
            return Cycle(self.cache, self._number, clock.now()).run(heads)
        except Exception:
            for work in heads:  # a defect of ours must not make them vanish
                self.cache.back(work, Requeue.FAILED_AFTER_NOMINATION)
            raise

    async def _put_back(self, entries: Sequence[SchedulingEntry]) -> tuple[bool, list[Exception]]:
        """Put back all who were not admitted; return whether another cycle can bring more, and what went wrong."""
        results = await asyncio.gather(*map(self._put_one_back, entries), return_exceptions=True)
        problems = [result for result in results if isinstance(result, Exception)]
        return any(result is True for result in results), problems

    async def _put_one_back(self, entry: SchedulingEntry) -> bool:
        """Return whether another cycle can bring more: others are tried, or other flavors, or one leaves."""
        asked = IssuedPreemptions(0, None)
        try:
            if entry.status is EntryStatus.PREEMPTS:
                asked = await self.writer.preempt(entry)
            await self.writer.say_why(entry)
        except errors.NotFound:
            entry.why = Requeue.GENERIC
        except BaseException:
            self.cache.back(entry.work, Requeue.FAILED_AFTER_NOMINATION)
            raise
        is_in_line = self.cache.back(entry.work, entry.why)
        if asked.problem is not None:
            raise asked.problem
        has_more = entry.work.tried is not None and entry.work.tried.has_more
        return asked.now > 0 or not is_in_line or has_more

    async def _meanwhile(self, doing: Coroutine[Any, Any, None]) -> None:
        """Do something beside the next cycles; or now, where no cycle waits for it."""
        if self._tasks is None:
            await doing
        else:
            self._tasks.create_task(doing)

    def _retry_soon(self, tree: str) -> None:
        """Gather what changes in a tree of cohorts."""
        self.queue.add_after(RETRY + tree, self.cache.settings.retry_batch)

    def _measure_cycle(self, entries: Sequence[SchedulingEntry], seconds: float) -> None:
        has_admitted = any(entry.status is EntryStatus.ADMITTED for entry in entries)
        self.kueue_metrics.attempted(has_admitted=has_admitted, seconds=seconds)
        for name in sorted({entry.work.cluster_queue for entry in entries}):
            skipped = [
                e for e in entries if e.work.cluster_queue == name and e.status is EntryStatus.SKIPPED and e.targets
            ]
            self.kueue_metrics.skipped(name, len(skipped))

"""Give quota to the Workloads that wait for it: cycle after cycle, one head of every ClusterQueue at a time.

A cycle runs when a Workload is to be tried, and again at once while cycles change something: one was admitted, became
inadmissible, or preempts. A head that stays in its queue without any of this, since its queue is strict or it waits for
those whom it preempted, is looked at again when something changes; the real scheduler looks every ten milliseconds.

Where admission is blocked until the pods of others are ready, a cycle stands still in the turn of who would be admitted
and goes on when they are; nothing else is decided meanwhile.

Reads:   Workload, ClusterQueue, LocalQueue, Cohort, ResourceFlavor, Topology, AdmissionCheck, Namespace, Node, Pod,
         LimitRange, RuntimeClass
Writes:  what `admission_writes` names
Mirrors: Kueue pkg/scheduler
Simplified: resource claims are not served.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace, Node
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.api.meta import O, Object
from fleetqueue.api.pod_limits import LimitRange, RuntimeClass
from fleetqueue.embedded.kueue.metric_places import forget_gone
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.scheduling.admission_writes import IssuedPreemptions, Writer
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle, EntryStatus, SchedulingEntry
from fleetqueue.embedded.kueue.scheduling.other_pods import OtherPod
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.scheduling.pod_template_adjustments import summary
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo, needs_second_pass
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

log = Log("kueue")


def listen(hub: Cluster, cache: Cache) -> None:
    """Follow all kinds that the cache holds; call it before the hub runs."""
    _hear(hub, kueue.ResourceFlavor, cache.set_flavor, cache.drop_flavor)
    _hear(hub, Topology, cache.set_topology, cache.drop_topology)
    _hear(hub, Node, cache.set_node, cache.drop_node)
    _hear(hub, OtherPod, cache.set_pod, cache.drop_pod)
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
SECOND_PASS: Final = "second pass "
"""The prefix of the keys of Workloads that hold quota and are to be looked at again."""


@dataclass(slots=True)
class CycleUnderWay:
    """A cycle that is decided, and of which not everything is done."""

    entries: Sequence[SchedulingEntry]
    left: deque[SchedulingEntry]
    """Those whose turns are still to come."""
    started: float
    asked: dict[str, IssuedPreemptions] = field(default_factory=dict)
    """What came of preempting for a Workload in its turn."""
    blocked: SchedulingEntry | None = None
    """Who was told to wait for the pods of others."""


class KueueSchedulerController(Controller):
    name = "kueue-scheduler"

    def __init__(self, hub: Cluster, metrics: Metrics, cache: Cache, kueue_metrics: KueueMetrics) -> None:
        super().__init__(hub, metrics)
        self.cache = cache
        self.kueue_metrics = kueue_metrics
        self.writer = Writer(hub, cache, kueue_metrics)
        self._tasks: asyncio.TaskGroup | None = None
        self._number = 0
        self._under_way: CycleUnderWay | None = None

    def watches(self) -> Iterable[Watch[Any]]:
        return ()

    def subscribe(self) -> None:
        self.cache.on_pending = lambda: self.wake(CYCLE)
        self.cache.retry = self._retry_soon
        self.cache.look_again = lambda key, delay: self.queue.add_after(SECOND_PASS + key, delay)
        listen(self.hub, self.cache)
        forget_gone(self.hub, self.cache, self.kueue_metrics)

    async def work(self) -> None:
        """Work until cancelled; admissions are written while the next cycle is decided."""
        async with asyncio.TaskGroup() as self._tasks:
            await super().work()

    async def reconcile(self, key: str) -> None:
        if key.startswith(RETRY):
            self.cache.wake(key.removeprefix(RETRY))
        elif key.startswith(SECOND_PASS):
            self.cache.second_pass(key.removeprefix(SECOND_PASS))
        else:
            await self._cycle()

    async def _cycle(self) -> None:
        await self.writer.ready()
        if self._under_way is None and (heads := self.cache.heads()):
            self._under_way = self._begun(heads)
        under_way = self._under_way
        if under_way is None or not await self._take_turns(under_way):
            return
        self._under_way = None
        comes_forward, problems = await self._put_back(under_way)
        has_admitted = any(entry.status is EntryStatus.ADMITTED for entry in under_way.entries)
        self._measure_cycle(under_way.entries, clock.monotonic() - under_way.started)
        if has_admitted or comes_forward:
            self.wake(CYCLE)
        if problems:
            raise problems[0]  # those are in their queues again, and are tried again later and later

    def _begun(self, heads: Sequence[WorkloadInfo]) -> CycleUnderWay:
        started = clock.monotonic()
        self._number += 1
        sharing = self.cache.settings.admission_fair_sharing
        usage = self.cache.local_usage if sharing is not None else None
        cycle = Cycle(self.cache, self._number, clock.now(), self.cache.settings.fair_sharing, usage)
        entries = self._decide(cycle, heads)
        # Preemptions can wait for the end, where many are written at once, unless a turn before it can stand still.
        early = (EntryStatus.PREEMPTS,) if self.cache.settings.blocks_until_ready else ()
        left = deque(entry for entry in cycle.turns if entry.status in (EntryStatus.ADMITTED, *early))
        return CycleUnderWay(entries, left, started)

    async def _take_turns(self, under_way: CycleUnderWay) -> bool:
        """Do what was decided, each in its turn; return False while that waits for the pods of others."""
        while under_way.left:
            entry = under_way.left[0]
            if entry.status is EntryStatus.PREEMPTS:
                under_way.asked[entry.work.key] = await self.writer.preempt(entry)
            elif self.cache.waits_for_pods and not needs_second_pass(entry.work.view):
                if under_way.blocked is not entry:
                    under_way.blocked = entry
                    await self.writer.say_blocked(entry)
                return False  # when they are ready, the cache wakes us
            else:
                self.writer.assume(entry)
                await self._meanwhile(self.writer.admit(entry))
            under_way.left.popleft()
        return True

    def _decide(self, cycle: Cycle, heads: Sequence[WorkloadInfo]) -> list[SchedulingEntry]:
        try:
            return cycle.run(heads)
        except Exception:
            for work in heads:  # a defect of ours must not make them vanish
                self.cache.back(work, Requeue.FAILED_AFTER_NOMINATION)
            raise

    async def _put_back(self, under_way: CycleUnderWay) -> tuple[bool, list[Exception]]:
        """Put back all who were not admitted; return whether another cycle can bring more, and what went wrong."""
        waiting = [entry for entry in under_way.entries if entry.status is not EntryStatus.ADMITTED]
        returning = (self._put_one_back(entry, under_way.asked.get(entry.work.key)) for entry in waiting)
        results = await asyncio.gather(*returning, return_exceptions=True)
        problems = [result for result in results if isinstance(result, Exception)]
        return any(result is True for result in results), problems

    async def _put_one_back(self, entry: SchedulingEntry, asked: IssuedPreemptions | None) -> bool:
        """Return whether another cycle can bring more: others are tried, or other flavors, or one leaves."""
        if entry.work.view.is_true(kueue.QUOTA_RESERVED):
            return await self._end_second_pass(entry)
        try:
            if entry.status is EntryStatus.PREEMPTS and asked is None:
                asked = await self.writer.preempt(entry)
            await self.writer.say_why(entry)
        except errors.NotFound:
            entry.why = Requeue.GENERIC
        except BaseException:
            self.cache.back(entry.work, Requeue.FAILED_AFTER_NOMINATION)
            raise
        is_in_line = self.cache.back(entry.work, entry.why)
        if asked is not None and asked.problem is not None:
            raise asked.problem
        has_more = entry.work.tried is not None and entry.work.tried.has_more
        return (asked is not None and asked.now > 0) or not is_in_line or has_more

    async def _end_second_pass(self, entry: SchedulingEntry) -> bool:
        """Evict a Workload where a node of it cannot be replaced; else look at it again later."""
        if entry.status is EntryStatus.EVICTED:
            await self.writer.evict_for_failed_nodes(entry)
        elif self.cache.looked_again(entry.work):
            await self.writer.say_second_pass_failed(entry)
        return False

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

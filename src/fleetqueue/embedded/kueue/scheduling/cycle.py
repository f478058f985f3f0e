"""One cycle of the scheduler: from the heads of the queues to what shall happen to each.

Everything is decided at one moment on a snapshot: what a head would use is added to it while those behind are looked
at, and removed at the end. The decisions are written by `scheduler`.

Mirrors: Kueue pkg/scheduler/scheduler.go, pkg/scheduler/flavorassigner/podset_reducer.go
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from functools import partial
from typing import Protocol, TypeVar

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.pod_templates import PodSet
from fleetqueue.embedded.kueue.scheduling.assignment import Assignment, GranularMode, Mode
from fleetqueue.embedded.kueue.scheduling.candidates import PreemptionCandidate, Preemptor, Variant
from fleetqueue.embedded.kueue.scheduling.cohorts import Queue
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import FlavorAssigner
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.scheduling.preemption import PreemptionTarget, simulated, targets, without
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource, Quantities
from fleetqueue.embedded.kueue.scheduling.workload_info import Tried, WorkloadInfo
from fleetqueue.rules.workload_slices import REPLACES

R = TypeVar("R")


def can_shrink(pod_sets: Sequence[PodSet]) -> bool:
    """Tell whether a Workload may be admitted with fewer pods."""
    return any(_spare(one) for one in pod_sets)


def largest(pod_sets: Sequence[PodSet], fits: Callable[[list[int]], R | None]) -> R | None:
    """Halve the way between all pods and the fewest until the most that fit are found."""
    spare = [_spare(one) for one in pod_sets]
    total = sum(spare)
    low, high, best, found_at = 0, total + 1, None, 0
    while low < high:
        middle = (low + high) // 2
        result = fits(
            [one.count - spare_count * middle // total for one, spare_count in zip(pod_sets, spare, strict=True)]
        )
        if result is None:
            low = middle + 1
        else:
            high, best, found_at = middle, result, middle
    return best if found_at == low else None


def _spare(one: PodSet) -> int:
    return one.count - (one.count if one.min_count is None else one.min_count)


FAILED_CHECKS = "The workload has failed admission checks"
WRONG_NAMESPACE = "workload namespace doesn't match ClusterQueue selector"
OVERLAPPING = "Workload has overlapping preemption targets with another workload"
NO_LONGER_FITS = "Workload no longer fits after processing another workload"


class Snapshot(Protocol):
    """What a cycle looks at."""

    @property
    def flavors(self) -> Mapping[str, kueue.ResourceFlavor]: ...
    def queue(self, name: str) -> Queue | None: ...
    def spec(self, name: str) -> kueue.ClusterQueueSpec: ...
    def is_closed(self, name: str) -> bool:
        """Tell whether a ClusterQueue cannot admit."""
        ...

    def holders(self, name: str) -> Iterable[WorkloadInfo]: ...
    def selects(self, name: str, namespace: str) -> bool:
        """Tell whether a ClusterQueue takes Workloads of a namespace."""
        ...


class EntryStatus(Enum):
    PENDING = auto()
    SKIPPED = auto()
    """It could have been admitted, had another not been quicker."""
    PREEMPTS = auto()
    ADMITTED = auto()


@dataclass(slots=True, eq=False)
class SchedulingEntry:
    work: WorkloadInfo
    queue: Queue | None
    assignment: Assignment | None = None
    replaced: PreemptionTarget | None = None
    """The slice of an elastic job whose place it takes."""
    targets: Sequence[PreemptionTarget] = ()
    status: EntryStatus = EntryStatus.PENDING
    message: str = ""
    why: Requeue = Requeue.GENERIC

    @property
    def leaving(self) -> Sequence[PreemptionTarget]:
        """Who makes room: those that are preempted, and the slice that it replaces."""
        return (*self.targets, *((self.replaced,) if self.replaced is not None else ()))


@dataclass(slots=True)
class Cycle:
    snapshot: Snapshot
    number: int
    now: datetime
    preempted: dict[str, PreemptionTarget] = field(default_factory=dict)
    """Whom this cycle preempts, by key."""
    _noted: list[tuple[Queue, Quantities]] = field(default_factory=list)

    def run(self, heads: Iterable[WorkloadInfo]) -> list[SchedulingEntry]:
        """Decide on each head."""
        entries = [self._nominated(work) for work in heads]
        try:
            for entry in sorted((entry for entry in entries if entry.assignment is not None), key=_turn):
                self._process(entry)
        finally:
            for queue, usage in reversed(self._noted):
                queue.add_all(usage, -1)
            self._noted.clear()
        return entries

    def _nominated(self, work: WorkloadInfo) -> SchedulingEntry:
        """Look what a head could get, as things stand before the cycle."""
        entry = SchedulingEntry(work, self.snapshot.queue(work.cluster_queue))
        entry.message, entry.why = self._refusal(entry)
        if not entry.message and entry.queue is not None:
            entry.replaced = self._replaced(work, entry.queue)
            entry.assignment, entry.targets = self._assigned(entry, entry.queue)
            entry.message = entry.assignment.message
            work.tried = entry.assignment.tried
        return entry

    def _refusal(self, entry: SchedulingEntry) -> tuple[str, Requeue]:
        work, name = entry.work, entry.work.cluster_queue
        if any(check.state in (kueue.RETRY, kueue.REJECTED) for check in work.view.status.admission_checks):
            return FAILED_CHECKS, Requeue.GENERIC
        if entry.queue is None:
            return f"ClusterQueue {name} not found", Requeue.GENERIC
        if self.snapshot.is_closed(name):
            return f"ClusterQueue {name} is inactive", Requeue.GENERIC
        if not self.snapshot.selects(name, work.view.namespace):
            return WRONG_NAMESPACE, Requeue.NAMESPACE_MISMATCH
        return work.wrong, Requeue.GENERIC

    def _replaced(self, work: WorkloadInfo, queue: Queue) -> PreemptionTarget | None:
        """Find the slice whose place a Workload takes, if that holds quota of the same queue."""
        key = work.view.metadata.annotations.get(REPLACES, "")
        if not key or not key.startswith(f"{work.view.namespace}/"):
            return None
        old = next((holder for holder in self.snapshot.holders(queue.name) if holder.key == key), None)
        return None if old is None else PreemptionTarget(PreemptionCandidate(old, queue, None, Variant.WITHIN_QUEUE))

    def _assigned(self, entry: SchedulingEntry, queue: Queue) -> tuple[Assignment, Sequence[PreemptionTarget]]:
        spec, work = self.snapshot.spec(queue.name), entry.work
        if work.tried is not None and self._is_outdated(work.tried, work, queue):
            work.tried = None
        simulate = partial(self._simulate, work, queue, spec.preemption)
        held = entry.replaced.candidate.work.parts if entry.replaced is not None else ()
        search = FlavorAssigner(work, queue, spec, self.snapshot.flavors, simulate, self.number, held)
        whole = search.assign()
        chosen = self._targets(work, queue, spec.preemption, whole)
        if chosen is not None:
            return whole, chosen
        if can_shrink(work.pod_sets):

            def fits(counts: list[int]) -> tuple[Assignment, Sequence[PreemptionTarget]] | None:
                assignment = search.assign(counts)
                chosen = self._targets(work, queue, spec.preemption, assignment)
                return None if chosen is None else (assignment, chosen)

            if (partial_fit := largest(work.pod_sets, fits)) is not None:
                return partial_fit
        return whole, ()

    def _targets(
        self, work: WorkloadInfo, queue: Queue, rules: kueue.Preemption, assignment: Assignment
    ) -> Sequence[PreemptionTarget] | None:
        """Return whom an assignment needs to be preempted; None where it cannot work."""
        if assignment.mode is not Mode.PREEMPT:
            return () if assignment.mode is Mode.FIT else None
        wanted = {what: value for what, value in assignment.usage.items() if value}
        preemptor = Preemptor(work, queue, rules, wanted, assignment.needing_preemption)
        return targets(preemptor, self.snapshot.holders, self.now) or None

    def _simulate(
        self, work: WorkloadInfo, queue: Queue, rules: kueue.Preemption, what: FlavorResource, value: int
    ) -> tuple[GranularMode, int]:
        preemptor = Preemptor(work, queue, rules, {what: value}, {what})
        return simulated(preemptor, self.snapshot.holders, self.now)

    def _is_outdated(self, tried: Tried, work: WorkloadInfo, queue: Queue) -> bool:
        if tried.shape != work.shape:
            return True
        return self.number - tried.cycle > 1 and queue.generation > tried.generation

    def _process(self, entry: SchedulingEntry) -> None:
        """Decide on one head, after those before it."""
        assignment, queue = entry.assignment, entry.queue
        assert assignment is not None
        assert queue is not None
        if assignment.mode is Mode.NO_FIT:
            entry.why = Requeue.NO_FIT
        elif assignment.mode is Mode.PREEMPT and not entry.targets:
            entry.why = Requeue.NO_CANDIDATES
            if self.snapshot.spec(queue.name).preemption.reclaim_within_cohort != "Any":
                self._note(queue, _to_keep_free(assignment, queue))
        elif any(target.key in self.preempted for target in entry.leaving):
            _skip(entry, OVERLAPPING)
        elif not self._still_fits(entry, queue, assignment):
            _skip(entry, NO_LONGER_FITS)
        else:
            self._note(queue, assignment.usage)
            self.preempted |= {target.key: target for target in entry.leaving}
            entry.status = EntryStatus.PREEMPTS if assignment.mode is Mode.PREEMPT else EntryStatus.ADMITTED

    def _still_fits(self, entry: SchedulingEntry, queue: Queue, assignment: Assignment) -> bool:
        with without((*self.preempted.values(), *entry.leaving)):
            return queue.fits(assignment.usage)

    def _note(self, queue: Queue, usage: Quantities) -> None:
        queue.add_all(usage)
        self._noted.append((queue, dict(usage)))


def _turn(entry: SchedulingEntry) -> tuple[object, ...]:
    """Who comes first in a cycle: whoever borrows less, then by priority, then the oldest."""
    assert entry.assignment is not None
    return entry.assignment.borrows, *entry.work.order


def _skip(entry: SchedulingEntry, message: str) -> None:
    entry.status, entry.message, entry.why = EntryStatus.SKIPPED, message, Requeue.FAILED_AFTER_NOMINATION


def _to_keep_free(assignment: Assignment, queue: Queue) -> Quantities:
    """Return what others must leave for a head that waits: what it may claim, and not more."""
    kept = {}
    for what, value in assignment.usage.items():
        quota, used = queue.quota(what), queue.usage.get(what, 0)
        if not assignment.borrows:
            kept[what] = max(0, min(value, quota.nominal - used))
        elif quota.borrowing_limit is None:
            kept[what] = value
        else:
            kept[what] = min(value, quota.nominal + quota.borrowing_limit - used)
    return kept

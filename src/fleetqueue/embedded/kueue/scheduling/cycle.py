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
from typing import NamedTuple, Protocol, TypeVar

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.pod_templates import PodSet
from fleetqueue.embedded.kueue.scheduling.assignment import Assignment, GranularMode, Mode
from fleetqueue.embedded.kueue.scheduling.candidates import LocalUsage, PreemptionCandidate, Preemptor, Variant
from fleetqueue.embedded.kueue.scheduling.cohorts import Queue
from fleetqueue.embedded.kueue.scheduling.fair_preemption import fair_targets
from fleetqueue.embedded.kueue.scheduling.fair_sharing_order import in_fair_order
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import FlavorAssigner
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.scheduling.preemption import PreemptionTarget, simulated, targets, without
from fleetqueue.embedded.kueue.scheduling.queue_topology import QueueTopology
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource, Quantities
from fleetqueue.embedded.kueue.scheduling.topology_assigner import TopologyAssigner
from fleetqueue.embedded.kueue.scheduling.workload_info import Tried, WorkloadInfo, has_failed_node
from fleetqueue.embedded.kueue.settings import FairSharingSettings
from fleetqueue.embedded.kueue.topology.flavor_topology import TopologyUsage
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
    @property
    def ignores_undeclared(self) -> bool:
        """Tell whether requests for what a ClusterQueue has no quota of are not looked at."""
        ...

    @property
    def evicts_without_replacement(self) -> bool:
        """Tell whether a Workload is evicted at once where a failed node of it cannot be replaced."""
        ...

    def queue(self, name: str) -> Queue | None: ...
    def spec(self, name: str) -> kueue.ClusterQueueSpec: ...
    def is_closed(self, name: str) -> bool:
        """Tell whether a ClusterQueue cannot admit."""
        ...

    def holders(self, name: str) -> Iterable[WorkloadInfo]: ...
    def topology(self, name: str) -> QueueTopology:
        """Return what topologies mean for a ClusterQueue."""
        ...

    def selects(self, name: str, namespace: str) -> bool:
        """Tell whether a ClusterQueue takes Workloads of a namespace."""
        ...


class EntryStatus(Enum):
    PENDING = auto()
    SKIPPED = auto()
    """It could have been admitted, had another not been quicker."""
    PREEMPTS = auto()
    EVICTED = auto()
    """A node of it failed, and there is no other for its pods."""
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

    @property
    def queue_node(self) -> Queue:
        assert self.queue is not None
        return self.queue

    @property
    def assigned_usage(self) -> Quantities:
        assert self.assignment is not None
        return {} if self.work.view.is_true(kueue.QUOTA_RESERVED) else self.assignment.usage

    @property
    def order(self) -> tuple[int, datetime, str]:
        return self.work.order


class Fits(Enum):
    """Whether a head can still have what it was nominated with."""

    YES = auto()
    NO_QUOTA = auto()
    NO_DOMAIN = auto()


class NetUsage(NamedTuple):
    """What a head uses beside what is counted already."""

    quota: Quantities
    topology: TopologyUsage


@dataclass(slots=True)
class Cycle:
    snapshot: Snapshot
    number: int
    now: datetime
    fair_sharing: FairSharingSettings | None = None
    local_usage: LocalUsage | None = None
    """None where it does not matter what LocalQueues have consumed."""
    preempted: dict[str, PreemptionTarget] = field(default_factory=dict)
    """Whom this cycle preempts, by key."""
    turns: list[SchedulingEntry] = field(default_factory=list)
    """The heads that were decided on one after the other, in that order."""
    _noted: list[tuple[Queue, NetUsage]] = field(default_factory=list)
    _topologies: dict[str, QueueTopology] = field(default_factory=dict)
    """By ClusterQueue; nothing of them changes within a cycle."""

    def run(self, heads: Iterable[WorkloadInfo]) -> list[SchedulingEntry]:
        """Decide on each head."""
        entries = [self._nominated(work) for work in heads]
        try:
            for entry in self._in_order([entry for entry in entries if entry.assignment is not None]):
                self._process(entry)
        finally:
            for queue, usage in reversed(self._noted):
                queue.use(usage.quota, usage.topology, -1)
            self._noted.clear()
        return entries

    def _in_order(self, nominated: Sequence[SchedulingEntry]) -> Iterable[SchedulingEntry]:
        if self.fair_sharing is None:
            return sorted(nominated, key=_turn)
        return in_fair_order(nominated, non_borrowing_first=self.fair_sharing.prioritizes_non_borrowing)

    def _nominated(self, work: WorkloadInfo) -> SchedulingEntry:
        """Look what a head could get, as things stand before the cycle."""
        entry = SchedulingEntry(work, self.snapshot.queue(work.cluster_queue))
        entry.message, entry.why = self._refusal(entry)
        if not entry.message and entry.queue is not None:
            entry.replaced = self._replaced(work, entry.queue)
            self._assign(entry, entry.queue)
        return entry

    def _assign(self, entry: SchedulingEntry, queue: Queue) -> None:
        """Look what a head could get as things stand now, and where its pods would be."""
        assignment, targets = self._assigned(entry, queue)
        with without(targets):
            placer = TopologyAssigner(entry.work, self._topology(queue))
            placer.place_after_preemption(assignment, has_targets=bool(targets))
        entry.assignment, entry.targets = assignment, targets
        entry.message = assignment.message
        entry.work.tried = assignment.tried

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
        search = FlavorAssigner(
            work,
            queue,
            spec,
            self.snapshot.flavors,
            simulate,
            self.number,
            held,
            shares_fairly=self.fair_sharing is not None,
            ignores_undeclared=self.snapshot.ignores_undeclared,
            topology=self._topology(queue),
        )
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
        placer = TopologyAssigner(work, self._topology(queue))
        preemptor = Preemptor(
            work,
            queue,
            rules,
            wanted,
            assignment.needing_preemption,
            self.local_usage,
            can_be_placed=partial(placer.can_be_placed, placer.asked(assignment)),
        )
        return self._victims_of(preemptor) or None

    def _simulate(
        self, work: WorkloadInfo, queue: Queue, rules: kueue.Preemption, what: FlavorResource, value: int
    ) -> tuple[GranularMode, int]:
        preemptor = Preemptor(work, queue, rules, {what: value}, {what}, self.local_usage)
        return simulated(preemptor, self._victims_of(preemptor))

    def _victims_of(self, preemptor: Preemptor) -> Sequence[PreemptionTarget]:
        if self.fair_sharing is None:
            return targets(preemptor, self.snapshot.holders, self.now)
        return fair_targets(preemptor, self.snapshot.holders, self.now, self.fair_sharing)

    def _is_outdated(self, tried: Tried, work: WorkloadInfo, queue: Queue) -> bool:
        if tried.shape != work.shape:
            return True
        return self.number - tried.cycle > 1 and queue.generation > tried.generation

    def _process(self, entry: SchedulingEntry) -> None:
        """Decide on one head, after those before it."""
        self.turns.append(entry)
        queue = entry.queue
        assert queue is not None
        fits = self._still_fits(entry, queue)
        if fits is Fits.NO_DOMAIN:
            fits = self._assigned_anew(entry, queue)
        assignment = entry.assignment
        assert assignment is not None
        evicts = self.snapshot.evicts_without_replacement and has_failed_node(entry.work.view)
        if assignment.mode is not Mode.FIT and evicts:
            entry.status = EntryStatus.EVICTED
        elif assignment.mode is Mode.NO_FIT:
            entry.why = Requeue.NO_FIT
        elif assignment.mode is Mode.PREEMPT and not entry.targets:
            entry.why = Requeue.NO_CANDIDATES
            if self.snapshot.spec(queue.name).preemption.reclaim_within_cohort != "Any":
                self._note(queue, self._net_usage(entry, queue, _to_keep_free(assignment, queue)))
        elif any(target.key in self.preempted for target in entry.leaving):
            _skip(entry, OVERLAPPING)
        elif fits is not Fits.YES:
            _skip(entry, NO_LONGER_FITS)
        else:
            self._note(queue, self._net_usage(entry, queue, assignment.usage))
            self.preempted |= {target.key: target for target in entry.leaving}
            if assignment.mode is Mode.PREEMPT:
                entry.status, entry.why = EntryStatus.PREEMPTS, Requeue.PENDING_PREEMPTION
            else:
                entry.status = EntryStatus.ADMITTED

    def _still_fits(self, entry: SchedulingEntry, queue: Queue) -> Fits:
        assert entry.assignment is not None
        usage = self._net_usage(entry, queue, entry.assignment.usage)
        leaving = self.preempted | {target.key: target for target in entry.leaving}
        with without(leaving.values()):
            if not queue.fits(usage.quota):
                return Fits.NO_QUOTA
            return Fits.YES if queue.has_room(usage.topology) else Fits.NO_DOMAIN

    def _assigned_anew(self, entry: SchedulingEntry, queue: Queue) -> Fits:
        """Look again for domains, since somebody before took those that a head was nominated with.

        The heads of all queues are nominated one by one, and like the same domains. Who would only wait for the next
        cycle might lose in each of them. The flavors stay as they are.
        """
        assert entry.assignment is not None
        work = entry.work
        work.tried = None
        work.pinned = [{name: given.flavor for name, given in part.given.items()} for part in entry.assignment.parts]
        self._assign(entry, queue)
        work.pinned = ()
        return self._still_fits(entry, queue)

    def _topology(self, queue: Queue) -> QueueTopology:
        known = self._topologies.get(queue.name)
        if known is None:
            known = self._topologies[queue.name] = self.snapshot.topology(queue.name)
        return known

    def _net_usage(self, entry: SchedulingEntry, queue: Queue, quota: Quantities) -> NetUsage:
        """Return what a head would use beside what is counted already: who holds quota needs no more of it."""
        assert entry.assignment is not None
        placer = TopologyAssigner(entry.work, self._topology(queue))
        has_quota = entry.work.view.is_true(kueue.QUOTA_RESERVED)
        return NetUsage({} if has_quota else dict(quota), placer.net_usage(entry.assignment))

    def _note(self, queue: Queue, usage: NetUsage) -> None:
        queue.use(usage.quota, usage.topology)
        self._noted.append((queue, usage))


def _turn(entry: SchedulingEntry) -> tuple[object, ...]:
    """Who comes first in a cycle: whoever holds quota already, or borrows less; then by priority, then the oldest."""
    assert entry.assignment is not None
    return not entry.work.view.is_true(kueue.QUOTA_RESERVED), entry.assignment.borrows, *entry.work.order


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

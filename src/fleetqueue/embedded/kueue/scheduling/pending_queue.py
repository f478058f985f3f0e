"""The Workloads that wait for one ClusterQueue: who is next, and who need not be tried until something changes.

A Workload waits in the heap, is inadmissible because it could not be admitted, or is in flight: taken and being decided
on. With BestEffortFIFO a head that does not fit is inadmissible, and with it all that are alike; with StrictFIFO it
stays and blocks the queue.

Mirrors: Kueue pkg/cache/queue/cluster_queue.go
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Final

from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.scheduling.workload_info import Tried, WorkloadInfo, is_backing_off

BEST_EFFORT: Final = "BestEffortFIFO"
STRICT: Final = "StrictFIFO"
SLACK: Final = 64
"""So many more entries than twice the valid ones may lie in a heap before it is built anew."""


class Requeue(StrEnum):
    """Why a head comes back."""

    GENERIC = ""
    FAILED_AFTER_NOMINATION = "FailedAfterNomination"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    PENDING_PREEMPTION = "PendingPreemption"
    PREEMPTION_FAILED = "PreemptionFailed"
    NO_FIT = "NoFit"
    NO_CANDIDATES = "PreemptionNoCandidates"


AT_ONCE: Final = (Requeue.FAILED_AFTER_NOMINATION, Requeue.PENDING_PREEMPTION, Requeue.PREEMPTION_FAILED)
ALIKE: Final = (Requeue.NO_FIT, Requeue.NO_CANDIDATES)
"""What is true of all that are alike."""


Entry = tuple[tuple[int, datetime, str], int, str]
Heap = list[Entry]
UsageOf = Callable[[str], float]
"""Return what a LocalQueue has consumed."""


class PendingQueue:
    def __init__(self, name: str, strategy: str = BEST_EFFORT, usage: UsageOf | None = None) -> None:
        """Make an empty queue; with `usage`, those come first whose LocalQueues have consumed less."""
        self.name = name
        self.strategy = strategy
        self.in_flight: WorkloadInfo | None = None
        self._usage = usage
        self._heaps: dict[str, Heap] = {}
        """By LocalQueue where that matters, else one for all."""
        self._waiting: dict[str, tuple[int, WorkloadInfo]] = {}
        """By key, with the number of the entry of the heap that is valid."""
        self._alike: dict[bytes, dict[str, None]] = {}
        self._parked: dict[str, WorkloadInfo] = {}
        self._hopeless: set[bytes] = set()
        """Shapes that did not fit since something last changed."""
        self._number = 0
        self._taken = 0
        self._woken_at = -1
        """How many heads had been taken when the inadmissible were last requeued."""
        self._preemptor = ""
        """Who waits for those that it preempted; it goes first."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._parked) + (self.in_flight is not None)

    @property
    def has_head(self) -> bool:
        return bool(self._waiting)

    @property
    def inadmissible(self) -> int:
        return len(self._parked)

    def all(self) -> list[WorkloadInfo]:
        """Return everybody, in the order in which they would be tried."""
        flying = [self.in_flight] if self.in_flight is not None else []
        everybody = [*flying, *(work for _, work in self._waiting.values()), *self._parked.values()]
        return sorted(everybody, key=self._turn)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return how many of each LocalQueue wait, and how many of those are inadmissible."""
        inadmissible = Counter(work.local_queue for work in self._parked.values())
        everybody = inadmissible + Counter(work.local_queue for _, work in self._waiting.values())
        if self.in_flight is not None:
            everybody[self.in_flight.local_queue] += 1
        return {local: (count, inadmissible[local]) for local, count in everybody.items()}

    def requests(self) -> Requests:
        """Return what all of them ask for, without who is in flight: that is decided on."""
        total: Requests = {}
        for work in (*(work for _, work in self._waiting.values()), *self._parked.values()):
            for resource, value in work.requests.items():
                total[resource] = total.get(resource, 0) + value
        return total

    def put(self, work: WorkloadInfo, now: datetime) -> bool:
        """Add a Workload, or take what changed about one; return whether there is one to be tried."""
        key = work.key
        if self._is_in_flight(key):
            return False
        known = self._parked.get(key)
        if known is not None and not _has_new_chances(known, work):
            work.tried = known.tried
            self._parked[key] = work
            return False
        self._parked.pop(key, None)
        if key not in self._waiting and (is_backing_off(work.view, now) or self._is_hopeless(work)):
            self._parked[key] = work
            return False
        work.tried = self._tried(work)
        self._push(work)
        return True

    def take(self) -> WorkloadInfo | None:
        """Take the head, for a decision; it comes back by `back`, or leaves by `remove`."""
        self._taken += 1
        self.in_flight = None
        work = self._pop()
        self.in_flight = work
        return work

    def back(self, work: WorkloadInfo, why: Requeue, now: datetime) -> bool:
        """Put a head back that was not admitted; return whether it will be tried again without a change."""
        key = work.key
        if why is Requeue.PENDING_PREEMPTION:
            self._preemptor = key if self.strategy == BEST_EFFORT else ""
        if self._is_in_flight(key):
            self.in_flight = None
        if key in self._waiting or key in self._parked:
            return key in self._waiting
        if not is_backing_off(work.view, now) and self._is_tried_again(work, why):
            self._push(work)
            return True
        self._parked[key] = work
        if why in ALIKE and self.strategy == BEST_EFFORT:
            self._park_alike(work.shape)
        return False

    def remove(self, key: str) -> bool:
        if self._is_in_flight(key):
            self.in_flight = None
        if self._preemptor == key:
            self._preemptor = ""
        was_waiting = self._drop(key) is not None
        return self._parked.pop(key, None) is not None or was_waiting

    def wake(self, may_be_tried: Callable[[WorkloadInfo], bool]) -> bool:
        """Requeue the inadmissible Workloads; return whether there were any."""
        self._woken_at = self._taken
        self._hopeless.clear()
        woken = [work for work in self._parked.values() if may_be_tried(work)]
        for work in woken:
            del self._parked[work.key]
            self._push(work)
        return bool(woken)

    def _is_tried_again(self, work: WorkloadInfo, why: Requeue) -> bool:
        if self.strategy == STRICT:
            is_at_once = why is not Requeue.NAMESPACE_MISMATCH
        else:
            is_at_once = why in AT_ONCE
        has_more = work.tried is not None and work.tried.has_more
        return is_at_once or has_more or self._woken_at >= self._taken

    def _is_in_flight(self, key: str) -> bool:
        return self.in_flight is not None and self.in_flight.key == key

    def _is_hopeless(self, work: WorkloadInfo) -> bool:
        return self.strategy == BEST_EFFORT and work.shape in self._hopeless

    def _tried(self, work: WorkloadInfo) -> Tried | None:
        """Let a Workload that only changed go on where its search for flavors stands."""
        _, known = self._waiting.get(work.key, (0, None))
        return known.tried if known is not None and known.shape == work.shape else work.tried

    def _push(self, work: WorkloadInfo) -> None:
        self._drop(work.key)
        self._number += 1
        self._waiting[work.key] = (self._number, work)
        self._alike.setdefault(work.shape, {})[work.key] = None
        heap = self._heaps.setdefault(self._group(work), [])
        heapq.heappush(heap, (work.order, self._number, work.key))
        if len(heap) > 2 * len(self._waiting) + SLACK:
            heap[:] = [entry for entry in heap if self._is_valid(entry)]
            heapq.heapify(heap)

    def _pop(self) -> WorkloadInfo | None:
        best = min(self._firsts(), key=self._turn, default=None)
        return self._drop(best.key) if best is not None else None

    def _firsts(self) -> Iterator[WorkloadInfo]:
        """Yield the first of each heap, and who waits for those that it preempted."""
        if self._preemptor in self._waiting:
            yield self._waiting[self._preemptor][1]
        for group, heap in [*self._heaps.items()]:
            while heap and not self._is_valid(heap[0]):
                heapq.heappop(heap)
            if heap:
                yield self._waiting[heap[0][2]][1]
            else:
                del self._heaps[group]

    def _is_valid(self, entry: Entry) -> bool:
        _, number, key = entry
        return self._waiting.get(key, (0, None))[0] == number

    def _group(self, work: WorkloadInfo) -> str:
        return work.local_queue if self._usage is not None else ""

    def _turn(self, work: WorkloadInfo) -> tuple[object, ...]:
        used = self._usage(work.local_queue) if self._usage is not None else 0.0
        return used, work.key != self._preemptor, work.order

    def _drop(self, key: str) -> WorkloadInfo | None:
        """Take a Workload out of the heap; its old entry is skipped later."""
        _, work = self._waiting.pop(key, (0, None))
        if work is None:
            return None
        alike = self._alike[work.shape]
        del alike[key]
        if not alike:
            del self._alike[work.shape]
        return work

    def _park_alike(self, shape: bytes) -> None:
        self._hopeless.add(shape)
        for key in [*self._alike.get(shape, ())]:
            work = self._drop(key)
            if work is not None:
                self._parked[key] = work


def _has_new_chances(known: WorkloadInfo, now: WorkloadInfo) -> bool:
    """Tell whether an inadmissible Workload changed in a way that may help it."""
    old, new = known.view, now.view
    return (
        old.spec != new.spec
        or (known.shape, known.wrong) != (now.shape, now.wrong)
        or old.status.reclaimable_pods != new.status.reclaimable_pods
        or any(
            conditions.find(old.status.conditions, kind) != conditions.find(new.status.conditions, kind)
            for kind in (kueue.EVICTED, kueue.REQUEUED)
        )
    )

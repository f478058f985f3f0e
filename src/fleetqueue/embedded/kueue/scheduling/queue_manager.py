"""The pending Workloads: LocalQueues lead to ClusterQueues, and each ClusterQueue has one queue of them.

A Workload of an open LocalQueue is counted there even while its ClusterQueue does not exist.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial

from fleetqueue.embedded.kueue.scheduling.pending_queue import PendingQueue, UsageOf
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo


class QueueManager:
    def __init__(self) -> None:
        self.queues: dict[str, PendingQueue] = {}
        self.targets: dict[str, str] = {}
        """The ClusterQueue of each open LocalQueue."""
        self._local: dict[str, dict[str, None]] = {}
        """Who waits in each LocalQueue."""
        self._places: dict[str, tuple[str, str]] = {}
        """The LocalQueue and the ClusterQueue of each pending Workload."""

    def target(self, local_queue: str) -> str:
        """Return the ClusterQueue that an open LocalQueue leads to, or nothing."""
        return self.targets.get(local_queue, "")

    def open_local(self, local_queue: str, cluster_queue: str) -> None:
        self.targets[local_queue] = cluster_queue

    def close_local(self, local_queue: str) -> None:
        """Send everybody away who waits in a LocalQueue."""
        self.targets.pop(local_queue, None)
        for key in [*self._local.get(local_queue, ())]:
            self.remove(key)

    def leading_to(self, cluster_queue: str) -> list[str]:
        return [local for local, target in self.targets.items() if target == cluster_queue]

    def open(self, name: str, strategy: str, usage: UsageOf | None = None) -> PendingQueue:
        """Open a queue, or change its strategy; whether usage orders it stays as it was when it was opened."""
        queue = self.queues.setdefault(name, PendingQueue(name, strategy, usage))
        queue.strategy = strategy
        return queue

    def close(self, name: str) -> None:
        self.queues.pop(name, None)

    def pending_local(self, local_queue: str) -> int:
        return len(self._local.get(local_queue, ()))

    def waiting(self) -> Iterator[str]:
        """Return the keys of all who wait."""
        yield from self._places

    def place(self, key: str) -> tuple[str, str]:
        """Return the LocalQueue and the ClusterQueue of a pending Workload."""
        return self._places.get(key, ("", ""))

    def put(self, work: WorkloadInfo, now: datetime) -> bool:
        """Queue a Workload where it belongs; return whether there is one to be tried."""
        place = (work.local_queue, work.cluster_queue)
        if self.place(work.key) != place:
            self.remove(work.key)
            self._places[work.key] = place
            self._local.setdefault(work.local_queue, {})[work.key] = None
        queue = self.queues.get(work.cluster_queue)
        return queue.put(work, now) if queue is not None else False

    def remove(self, key: str) -> bool:
        local, name = self._places.pop(key, ("", ""))
        if not name:
            return False
        keys = self._local[local]
        del keys[key]
        if not keys:
            del self._local[local]
        queue = self.queues.get(name)
        return queue.remove(key) if queue is not None else True

    def heads(self, is_open: Callable[[str], bool]) -> list[WorkloadInfo]:
        """Take one head of each queue that is open, in the order of their names."""
        ready = [name for name in sorted(self.queues) if self.queues[name].has_head and is_open(name)]
        return [work for name in ready if (work := self.queues[name].take()) is not None]

    def wake(self, names: Iterable[str], may_be_tried: Callable[[str, WorkloadInfo], bool]) -> bool:
        """Requeue the inadmissible Workloads of some queues; return whether there were any."""
        woken = False
        for name in names:
            if (queue := self.queues.get(name)) is not None:
                woken = queue.wake(partial(may_be_tried, name)) or woken
        return woken

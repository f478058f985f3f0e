"""The quota that Workloads have reserved, by Workload, ClusterQueue and LocalQueue."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.cohorts import Forest
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource, Quantities
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo
from fleetqueue.embedded.kueue.topology.topologies import Topologies


@dataclass(slots=True)
class QueueTotals:
    """What the Workloads of one queue hold together."""

    reserving: int = 0
    admitted: int = 0
    reservation: dict[FlavorResource, int] = field(default_factory=dict)
    usage: dict[FlavorResource, int] = field(default_factory=dict)

    def count(self, held: Quantities, sign: int, *, is_admitted: bool) -> None:
        self.reserving += sign
        _add(self.reservation, held, sign)
        if is_admitted:
            self.admitted += sign
            _add(self.usage, held, sign)


@dataclass(frozen=True, slots=True)
class Reservation:
    work: WorkloadInfo
    is_admitted: bool


class Reservations:
    def __init__(self, forest: Forest, topologies: Topologies) -> None:
        self._forest = forest
        self._topologies = topologies
        self._held: dict[str, Reservation] = {}
        self._by_queue: dict[str, dict[str, WorkloadInfo]] = {}
        self._tallies: dict[str, QueueTotals] = {}
        self._local_tallies: dict[str, QueueTotals] = {}

    def get(self, key: str) -> WorkloadInfo | None:
        held = self._held.get(key)
        return held.work if held is not None else None

    def of(self, cluster_queue: str) -> Iterable[WorkloadInfo]:
        return self._by_queue.get(cluster_queue, {}).values()

    def tally(self, cluster_queue: str) -> QueueTotals:
        return self._tallies.get(cluster_queue, QueueTotals())

    def local_tally(self, local_queue: str) -> QueueTotals:
        return self._local_tallies.get(local_queue, QueueTotals())

    def put(self, work: WorkloadInfo, *, is_admitted: bool | None = None) -> None:
        """Note that a Workload holds what it holds; by default it is admitted if it says so."""
        self._take_off(work.key)
        is_admitted = work.view.is_true(kueue.ADMITTED) if is_admitted is None else is_admitted
        self._held[work.key] = Reservation(work, is_admitted)
        self._by_queue.setdefault(work.cluster_queue, {})[work.key] = work
        self._count(work, +1, is_admitted=is_admitted)

    def remove(self, key: str) -> WorkloadInfo | None:
        """Forget a Workload; return what it held. There may be more to be had now."""
        work = self._take_off(key)
        if work is not None and (queue := self._forest.queues.get(work.cluster_queue)) is not None:
            queue.generation += 1
        return work

    def adopt(self, cluster_queue: str) -> None:
        """Note in a new ClusterQueue what Workloads hold there already."""
        node = self._forest.queues[cluster_queue]
        for work in self.of(cluster_queue):
            node.add_all(work.usage)

    def _take_off(self, key: str) -> WorkloadInfo | None:
        held = self._held.pop(key, None)
        if held is None:
            return None
        of_queue = self._by_queue[held.work.cluster_queue]
        del of_queue[key]
        if not of_queue:
            del self._by_queue[held.work.cluster_queue]
        self._count(held.work, -1, is_admitted=held.is_admitted)
        return held.work

    def _count(self, work: WorkloadInfo, sign: int, *, is_admitted: bool) -> None:
        held = work.usage
        if (node := self._forest.queues.get(work.cluster_queue)) is not None:
            node.add_all(held, sign)
        self._topologies.hold(work.topology_usage, sign)
        for tallies, name in ((self._tallies, work.cluster_queue), (self._local_tallies, work.local_queue)):
            tally = tallies.setdefault(name, QueueTotals())
            tally.count(held, sign, is_admitted=is_admitted)
            if not tally.reserving:
                del tallies[name]


def _add(total: dict[FlavorResource, int], held: Quantities, sign: int) -> None:
    for what, value in held.items():
        total[what] = total.get(what, 0) + sign * value

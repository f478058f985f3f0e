"""A read-only view of the scheduler's cache, for a scheduling cycle and for the status of queues."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.cluster_configuration import ClusterConfiguration
from fleetqueue.embedded.kueue.scheduling.cohorts import Forest, Queue
from fleetqueue.embedded.kueue.scheduling.queue_manager import QueueManager
from fleetqueue.embedded.kueue.scheduling.queue_usage import InactiveReason, QueueUsageStats, Told
from fleetqueue.embedded.kueue.scheduling.reservations import Reservations
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo

CLUSTER_QUEUE: Final = "ClusterQueue"
LOCAL_QUEUE: Final = "LocalQueue"


class CacheView:
    def __init__(self) -> None:
        self.configuration = ClusterConfiguration()
        self.forest = Forest()
        self.reservations = Reservations(self.forest)
        self.queue_manager = QueueManager()
        self._told: list[Told] = []

    # What a cycle asks

    @property
    def flavors(self) -> Mapping[str, kueue.ResourceFlavor]:
        return self.configuration.flavors

    def queue(self, name: str) -> Queue | None:
        return self.forest.queues.get(name)

    def spec(self, name: str) -> kueue.ClusterQueueSpec:
        return self.configuration.spec(name)

    def is_closed(self, name: str) -> bool:
        return not self.configuration.is_open(name) or self.forest.is_in_cycle(name)

    def selects(self, name: str, namespace: str) -> bool:
        return self.configuration.selects(name, namespace)

    def holders(self, name: str) -> Iterable[WorkloadInfo]:
        return self.reservations.of(name)

    # How queues stand

    def of_cluster_queue(self, name: str) -> QueueUsageStats:
        tally, queue = self.reservations.tally(name), self.queue_manager.queues.get(name)
        pending = len(queue) if queue is not None else 0
        return QueueUsageStats(pending, tally.reserving, tally.admitted, dict(tally.reservation), dict(tally.usage))

    def of_local_queue(self, key: str) -> QueueUsageStats:
        tally = self.reservations.local_tally(key)
        pending = self.queue_manager.pending_local(key)
        return QueueUsageStats(pending, tally.reserving, tally.admitted, dict(tally.reservation), dict(tally.usage))

    def problems(self, name: str) -> Sequence[InactiveReason]:
        return self.configuration.problems(name)

    def cohorts_above(self, name: str) -> tuple[str, ...]:
        """Return the cohorts that a ClusterQueue stands below, its own first."""
        queue = self.forest.queues.get(name)
        if queue is None or self.forest.is_in_cycle(name):
            return ()
        return tuple(node.name for node in queue.ancestors())

    def subscribe(self, listener: Told) -> None:
        self._told.append(listener)

    def _tell_of(self, work: WorkloadInfo) -> None:
        self._tell(CLUSTER_QUEUE, work.cluster_queue)
        self._tell(LOCAL_QUEUE, work.local_queue)

    def _tell(self, kind: str, key: str) -> None:
        for listener in self._told:
            listener(kind, key)

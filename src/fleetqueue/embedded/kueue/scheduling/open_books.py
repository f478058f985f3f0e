"""The scheduler's books as those see them who only read: a cycle, and whoever writes how queues stand."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.scheduling.cohorts import Forest, Queue
from fleetqueue.embedded.kueue.scheduling.holdings import Holdings
from fleetqueue.embedded.kueue.scheduling.lines import Lines
from fleetqueue.embedded.kueue.scheduling.standings import Problem, Told, Usage
from fleetqueue.embedded.kueue.scheduling.surroundings import Surroundings
from fleetqueue.embedded.kueue.scheduling.work import Work

CLUSTER_QUEUE: Final = "ClusterQueue"
LOCAL_QUEUE: Final = "LocalQueue"


class OpenBooks:
    def __init__(self) -> None:
        self.around = Surroundings()
        self.forest = Forest()
        self.holdings = Holdings(self.forest)
        self.lines = Lines()
        self._told: list[Told] = []

    # What a cycle asks

    @property
    def flavors(self) -> Mapping[str, kueue.ResourceFlavor]:
        return self.around.flavors

    def queue(self, name: str) -> Queue | None:
        return self.forest.queues.get(name)

    def spec(self, name: str) -> kueue.ClusterQueueSpec:
        return self.around.spec(name)

    def is_closed(self, name: str) -> bool:
        return not self.around.is_open(name) or self.forest.is_in_cycle(name)

    def selects(self, name: str, namespace: str) -> bool:
        return self.around.selects(name, namespace)

    def holders(self, name: str) -> Iterable[Work]:
        return self.holdings.of(name)

    # How queues stand

    def of_cluster_queue(self, name: str) -> Usage:
        tally, queue = self.holdings.tally(name), self.lines.queues.get(name)
        pending = len(queue) if queue is not None else 0
        return Usage(pending, tally.reserving, tally.admitted, dict(tally.reservation), dict(tally.usage))

    def of_local_queue(self, key: str) -> Usage:
        tally = self.holdings.local_tally(key)
        pending = self.lines.pending_local(key)
        return Usage(pending, tally.reserving, tally.admitted, dict(tally.reservation), dict(tally.usage))

    def problems(self, name: str) -> Sequence[Problem]:
        return self.around.problems(name)

    def in_order(self, cluster_queue: str) -> list[str]:
        """Return who waits for a ClusterQueue, the next one first."""
        queue = self.lines.queues.get(cluster_queue)
        return [work.key for work in queue.all()] if queue is not None else []

    def subscribe(self, told: Told) -> None:
        self._told.append(told)

    def _tell_of(self, work: Work) -> None:
        self._tell(CLUSTER_QUEUE, work.cluster_queue)
        self._tell(LOCAL_QUEUE, work.local_queue)

    def _tell(self, kind: str, key: str) -> None:
        for told in self._told:
            told(kind, key)

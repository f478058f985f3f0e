"""A read-only view of the scheduler's cache, for a scheduling cycle and for the status of queues."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.quantity import Amounts
from fleetqueue.embedded.kueue.scheduling.admission_fair_sharing import UsageLedger, units
from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.scheduling.cluster_configuration import ClusterConfiguration
from fleetqueue.embedded.kueue.scheduling.cohorts import Forest, Queue, runs_in_circles
from fleetqueue.embedded.kueue.scheduling.dominant_resource_share import dominant_resource_share
from fleetqueue.embedded.kueue.scheduling.queue_manager import QueueManager
from fleetqueue.embedded.kueue.scheduling.queue_topology import QueueTopology
from fleetqueue.embedded.kueue.scheduling.queue_usage import InactiveReason, QueueUsageStats, Sample, Told
from fleetqueue.embedded.kueue.scheduling.quota import ResourceNode
from fleetqueue.embedded.kueue.scheduling.reservations import Reservations
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo
from fleetqueue.embedded.kueue.settings import AdmissionFairSharingSettings, SchedulingSettings
from fleetqueue.embedded.kueue.topology.topologies import Topologies

CLUSTER_QUEUE: Final = "ClusterQueue"
LOCAL_QUEUE: Final = "LocalQueue"


class CacheView:
    def __init__(self, settings: SchedulingSettings) -> None:
        self.settings = settings
        self.ledger = UsageLedger(settings.admission_fair_sharing or AdmissionFairSharingSettings())
        self.topologies = Topologies()
        self.configuration = ClusterConfiguration(self.topologies)
        self.forest = Forest(self.topologies)
        self.reservations = Reservations(self.forest, self.topologies)
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

    def local_usage(self, work: WorkloadInfo) -> float | None:
        """Return what the LocalQueue of a Workload has consumed, where its ClusterQueue asks for that."""
        return self.ledger.usage(work.local_queue) if self.is_by_usage(work.cluster_queue) else None

    def is_by_usage(self, name: str) -> bool:
        """Tell whether the Workloads of a ClusterQueue are ordered by what their LocalQueues have consumed."""
        return self.settings.admission_fair_sharing is not None and self.spec(name).admission_scope.is_by_usage

    def topology(self, name: str) -> QueueTopology:
        return self.configuration.topology(name)

    # How queues stand

    def of_cluster_queue(self, name: str) -> QueueUsageStats:
        tally, queue = self.reservations.tally(name), self.queue_manager.queues.get(name)
        pending = len(queue) if queue is not None else 0
        counts = (pending, tally.reserving, tally.admitted, dict(tally.reservation), dict(tally.usage))
        return QueueUsageStats(*counts, self._share_of(self.forest.queues.get(name)))

    def share_of_cohort(self, name: str) -> float | None:
        return self._share_of(self.forest.cohorts.get(name))

    def _admitted_usage(self, local_queue: str) -> Amounts:
        """Return what the admitted Workloads of a LocalQueue use, over all flavors of its ClusterQueue."""
        node = self.forest.queues.get(self.queue_manager.target(local_queue))
        used: Requests = {what.resource: 0 for what in (node.quotas if node is not None else ())}
        for what, value in self.reservations.local_tally(local_queue).usage.items():
            used[what.resource] = used.get(what.resource, 0) + value
        return units(used)

    def _share_of(self, node: ResourceNode | None) -> float | None:
        if self.settings.fair_sharing is None:
            return None
        is_whole = node is not None and not runs_in_circles(node)
        return dominant_resource_share(node).weighted if node is not None and is_whole else 0.0

    def of_local_queue(self, key: str) -> QueueUsageStats:
        tally = self.reservations.local_tally(key)
        pending = self.queue_manager.pending_local(key)
        return QueueUsageStats(pending, tally.reserving, tally.admitted, dict(tally.reservation), dict(tally.usage))

    def sample(self, key: str, told: Amounts | None, now: datetime) -> tuple[Sample, float] | None:
        """Return what the status of a LocalQueue shall tell of what it consumed, and when to ask again."""
        if self.settings.admission_fair_sharing is None:
            return None
        return self.ledger.sample(key, self._admitted_usage(key), told, now)

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

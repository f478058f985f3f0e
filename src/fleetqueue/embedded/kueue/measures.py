"""The numbers of queues and of the life of Workloads, for Prometheus; named as Kueue names them."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fleetqueue.embedded.kueue.scheduling.measures import ROLE
from fleetqueue.embedded.kueue.scheduling.queue_usage import Usage

STATUSES: Final = ("pending", "active", "terminating")
BUCKETS: Final = (1.0, *(2.5 * 2**power for power in range(14)))


class LifeMeasures:
    def __init__(self, registry: CollectorRegistry) -> None:
        queue = ["cluster_queue", "replica_role"]
        by_class = ["cluster_queue", "priority_class", "replica_role"]
        self.reserving = Gauge(
            "kueue_reserving_active_workloads", "Workloads that hold quota.", queue, registry=registry
        )
        self.admitted = Gauge(
            "kueue_admitted_active_workloads", "Workloads that are admitted.", queue, registry=registry
        )
        self.status = Gauge(
            "kueue_cluster_queue_status",
            "1 for what a ClusterQueue is, 0 for what it is not.",
            ["cluster_queue", "status", "replica_role"],
            registry=registry,
        )
        self.checks_wait = Histogram(
            "kueue_admission_checks_wait_time_seconds",
            "How long Workloads waited for their checks after they were given quota.",
            by_class,
            buckets=BUCKETS,
            registry=registry,
        )
        self.finished = Counter(
            "kueue_finished_workloads_total", "Workloads that have finished.", by_class, registry=registry
        )

    def of_queue(self, name: str, usage: Usage, status: str) -> None:
        self.reserving.labels(name, ROLE).set(usage.reserving)
        self.admitted.labels(name, ROLE).set(usage.admitted)
        for each in STATUSES:
            self.status.labels(name, each, ROLE).set(float(each == status))

    def forget_queue(self, name: str) -> None:
        """Stop telling of a ClusterQueue that has gone."""
        for measure in (self.reserving, self.admitted, self.status, self.checks_wait, self.finished):
            measure.remove_by_labels({"cluster_queue": name})

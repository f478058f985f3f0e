"""Kueue's metrics: of scheduling, of queues, and of the life of Workloads; named as Kueue names them."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fleetqueue.embedded.kueue.scheduling.queue_usage import QueueUsageStats

ROLE: Final = "standalone"
"""What Kueue says of a manager that stands alone."""
STATUSES: Final = ("pending", "active", "terminating")


def _buckets(count: int) -> tuple[float, ...]:
    return (1.0, *(2.5 * 2**power for power in range(count - 1)))


class KueueMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        queue = ["cluster_queue", "priority_class", "replica_role"]
        self.attempts = Counter(
            "kueue_admission_attempts_total",
            "Attempts to admit Workloads, by result.",
            ["result", "replica_role"],
            registry=registry,
        )
        self.attempt_seconds = Histogram(
            "kueue_admission_attempt_duration_seconds",
            "How long an attempt to admit takes.",
            ["result", "replica_role"],
            registry=registry,
        )
        self.skips = Gauge(
            "kueue_admission_cycle_preemption_skips",
            "Workloads that had somebody to preempt in the last cycle but were passed over.",
            ["cluster_queue", "replica_role"],
            registry=registry,
        )
        self.pending = Gauge(
            "kueue_pending_workloads",
            "Workloads that wait: `active` in the queue, or `inadmissible` until something changes.",
            ["cluster_queue", "status", "replica_role"],
            registry=registry,
        )
        self.reserved = Counter(
            "kueue_quota_reserved_workloads_total", "Workloads that were given quota.", queue, registry=registry
        )
        self.reserved_wait = Histogram(
            "kueue_quota_reserved_wait_time_seconds",
            "How long Workloads waited for quota.",
            queue,
            buckets=_buckets(14),
            registry=registry,
        )
        self.admitted = Counter(
            "kueue_admitted_workloads_total", "Workloads that were admitted.", queue, registry=registry
        )
        self.admitted_wait = Histogram(
            "kueue_admission_wait_time_seconds",
            "How long Workloads waited to be admitted.",
            queue,
            buckets=_buckets(16),
            registry=registry,
        )
        self.evicted = Counter(
            "kueue_evicted_workloads_total",
            "Workloads that were evicted.",
            ["cluster_queue", "reason", "underlying_cause", "priority_class", "replica_role"],
            registry=registry,
        )
        self.preempted = Counter(
            "kueue_preempted_workloads_total",
            "Workloads that were preempted, by the queue that preempted them.",
            ["preempting_cluster_queue", "reason", "replica_role"],
            registry=registry,
        )
        self.reserving = Gauge(
            "kueue_reserving_active_workloads",
            "Workloads that hold quota.",
            ["cluster_queue", "replica_role"],
            registry=registry,
        )
        self.admitted_active = Gauge(
            "kueue_admitted_active_workloads",
            "Workloads that are admitted.",
            ["cluster_queue", "replica_role"],
            registry=registry,
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
            queue,
            buckets=_buckets(15),
            registry=registry,
        )
        self.finished = Counter(
            "kueue_finished_workloads_total", "Workloads that have finished.", queue, registry=registry
        )

    def of_queue(self, name: str, usage: QueueUsageStats, status: str) -> None:
        self.reserving.labels(name, ROLE).set(usage.reserving)
        self.admitted_active.labels(name, ROLE).set(usage.admitted)
        for status_label in STATUSES:
            self.status.labels(name, status_label, ROLE).set(float(status_label == status))

    def forget_queue(self, name: str) -> None:
        """Stop telling of a ClusterQueue that has gone; one that comes with its name begins at nothing."""
        gauges = (self.skips, self.pending, self.reserving, self.admitted_active, self.status)
        counters = (self.reserved, self.admitted, self.evicted, self.finished)
        for metric in (*gauges, *counters, self.reserved_wait, self.admitted_wait, self.checks_wait):
            metric.remove_by_labels({"cluster_queue": name})
        self.preempted.remove_by_labels({"preempting_cluster_queue": name})

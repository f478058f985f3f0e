"""The numbers of scheduling, for Prometheus; named as Kueue names them."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

ROLE: Final = "standalone"
"""What Kueue says of a manager that stands alone."""


def _buckets(count: int) -> tuple[float, ...]:
    return (1.0, *(2.5 * 2**power for power in range(count - 1)))


class Measures:
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

    def forget_queue(self, name: str) -> None:
        """Stop telling of a ClusterQueue that has gone; one that comes with its name begins at nothing."""
        numbers = (self.skips, self.pending, self.reserved, self.admitted, self.evicted)
        for measure in (*numbers, self.reserved_wait, self.admitted_wait):
            measure.remove_by_labels({"cluster_queue": name})
        self.preempted.remove_by_labels({"preempting_cluster_queue": name})

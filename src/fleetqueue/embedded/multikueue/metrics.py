"""The numbers of MultiKueue, for Prometheus; named as Kueue names them."""

from prometheus_client import CollectorRegistry, Counter


class MultiKueueMetrics:
    def __init__(self, registry: CollectorRegistry, role: str) -> None:
        """Make them; `role` is that of the replica which tells them."""
        self.role = role
        labels = ["cluster_queue", "cluster", "replica_role"]
        self.dispatched = Counter(
            "multikueue_workloads_dispatched_total",
            "Workloads that were created on a worker.",
            labels,
            registry=registry,
        )
        self.admitted = Counter(
            "multikueue_workloads_admitted_total",
            "Workloads that a worker was the first to admit; again after an eviction.",
            labels,
            registry=registry,
        )

"""The numbers of placement, for Prometheus; named as OCM names them."""

from typing import Final

from prometheus_client import CollectorRegistry, Histogram

NAME: Final = "placement_scheduling"
BUCKETS: Final = tuple(1e-6 * 10**power for power in range(10))


class Measures:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.scheduling = Histogram(
            "scheduling_scheduling_duration_seconds",
            "How long in seconds it takes to schedule a placement.",
            ["name"],
            buckets=BUCKETS,
            registry=registry,
        ).labels(NAME)
        self.binding = Histogram(
            "scheduling_bind_duration_seconds",
            "How long in seconds it takes to bind a placement to placementDecisions.",
            ["name"],
            buckets=BUCKETS,
            registry=registry,
        ).labels(NAME)

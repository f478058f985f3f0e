"""What the controllers of this package count, for Prometheus."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge

from fleetqueue.controllers.placement_admission.draining import ConfigPlan, Holdings


class PlacementAdmissionMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.serving = Gauge(
            "fleetqueue_serving_clusters", "Clusters that a Placement's config offers", ["placement"], registry=registry
        )
        self.draining = Gauge(
            "fleetqueue_draining_workloads",
            "Workloads that keep a dropped cluster listed",
            ["placement", "member"],
            registry=registry,
        )
        self.nominations = Counter(
            "fleetqueue_nominations_total", "Clusters nominated for Workloads", ["member"], registry=registry
        )
        self.refused = Counter(
            "fleetqueue_refused_nominations_total",
            "Nominations that were refused for the same cause as the time before",
            registry=registry,
        )
        self.waiting = Gauge(
            "fleetqueue_waiting_nominations",
            "Workloads with quota that no cluster could be nominated for",
            registry=registry,
        )
        self.taken_back = Counter(
            "fleetqueue_taken_back_total", "Workloads taken back from a cluster", ["reason"], registry=registry
        )
        self.evictions_finished = Counter(
            "fleetqueue_evictions_finished_total",
            "Evictions that Kueue had left unfinished, with the quota still held",
            registry=registry,
        )
        self._drains: dict[str, set[str]] = {}

    def set_clusters(self, placement: str, plan: ConfigPlan, held: Mapping[str, Holdings]) -> None:
        self.serving.labels(placement).set(len(plan.serving))
        for member in self._drains.get(placement, set()) - set(plan.draining):
            self.draining.remove(placement, member)
        for member in plan.draining:
            self.draining.labels(placement, member).set(len(held[member].workloads) if member in held else 0)
        self._drains[placement] = set(plan.draining)

"""The kinds of Kueue's metrics: counters and histograms, and such that are told of ClusterQueues and of LocalQueues."""

from collections.abc import Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from fleetqueue.api.meta import split_key

STANDALONE: Final = "standalone"
"""What Kueue says of a manager that stands alone."""
ROLE_LABEL: Final = "replica_role"
CLUSTER_QUEUE: Final = "cluster_queue"
LOCAL_QUEUE: Final = ("name", "namespace")

M = TypeVar("M", Counter, Histogram)


class Place(NamedTuple):
    """Where a Workload is counted."""

    cluster_queue: str
    local_queue: str = ""
    """Its key; empty where nothing is told of it."""
    cohorts: tuple[str, ...] = ()
    """Those above the ClusterQueue."""


class ByQueue(Generic[M]):
    """A metric of ClusterQueues, and the same of LocalQueues."""

    def __init__(self, cluster_queues: M, local_queues: M, role: str) -> None:
        self.cluster_queues: M = cluster_queues
        self.local_queues: M = local_queues
        self._role = role

    def of(self, place: Place, *values: str) -> Iterator[M]:
        """Return those that tell of a place."""
        yield self.cluster_queues.labels(place.cluster_queue, *values, self._role)
        if place.local_queue:
            namespace, name = split_key(place.local_queue)
            yield self.local_queues.labels(name, namespace, *values, self._role)


class ToldByGo:
    """What a registry tells, without the times at which its metrics were made: Prometheus' Go library has none."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


def text_of(registry: CollectorRegistry) -> str:
    """Return what Prometheus reads."""
    return generate_latest(ToldByGo(registry)).decode()


class MetricFactory:
    def __init__(self, registry: CollectorRegistry, role: str) -> None:
        """`role` is that of the replica which tells the metrics."""
        self._registry = registry
        self._role = role

    def count(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"kueue_{name}", text, [*labels, ROLE_LABEL], registry=self._registry)

    def seconds(self, name: str, text: str, *labels: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"kueue_{name}", text, [*labels, ROLE_LABEL], buckets=buckets, registry=self._registry)

    def waited(self, name: str, text: str, *labels: str, buckets: int = 14) -> Histogram:
        return self.seconds(name, text, *labels, buckets=waits(buckets))

    def count_by_queue(self, name: str, text: str, *labels: str) -> ByQueue[Counter]:
        return ByQueue(
            self.count(name, text, CLUSTER_QUEUE, *labels),
            self.count(f"local_queue_{name}", text, *LOCAL_QUEUE, *labels),
            self._role,
        )

    def waited_by_queue(self, name: str, text: str, *labels: str, buckets: int = 14) -> ByQueue[Histogram]:
        return ByQueue(
            self.waited(name, text, CLUSTER_QUEUE, *labels, buckets=buckets),
            self.waited(f"local_queue_{name}", text, *LOCAL_QUEUE, *labels),
            self._role,
        )


def waits(count: int) -> tuple[float, ...]:
    """Return the buckets of a time that is waited, in seconds."""
    return (1.0, *(2.5 * 2**power for power in range(count - 1)))

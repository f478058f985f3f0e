"""ResourceAllocatableCPU and ResourceAllocatableMemory: a cluster with much to allocate scores high.

Mirrors: OCM pkg/placement/plugins/resource
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from datetime import datetime

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.embedded.ocm.placement.plugins.interface import Prioritizer
from fleetqueue.rules.allocatable_scores import RESOURCES, allocatable, share_score


class Allocatable(Prioritizer):
    """Scores are a share of the way from the cluster with the least to the one with the most."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._resource = RESOURCES[name]
        self._amounts: dict[str, float] = {}
        """Of the clusters that say how much they have; the others score 0."""
        self._sorted: list[float] = []
        self._range = (0.0, 0.0)

    def enter(self, cluster: ManagedCluster, now: datetime) -> None:
        self.leave(cluster.name)
        amount = allocatable(cluster, self._resource)
        if amount is not None:
            self._amounts[cluster.name] = amount
            insort(self._sorted, amount)

    def leave(self, name: str) -> None:
        amount = self._amounts.pop(name, None)
        if amount is not None:
            del self._sorted[bisect_left(self._sorted, amount)]

    def moved(self) -> Iterable[str] | None:
        """Return all where the least or the most is another."""
        before, self._range = self._range, (self._sorted[0], self._sorted[-1]) if self._sorted else (0.0, 0.0)
        return () if before == self._range else None

    def score(self, name: str) -> int:
        amount = self._amounts.get(name)
        return 0 if amount is None else share_score(amount, *self._range)

"""ResourceAllocatableCPU and ResourceAllocatableMemory: a cluster with much to allocate scores high.

Mirrors: OCM pkg/placement/plugins/resource
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from fleetqueue.api import quantity
from fleetqueue.api.cluster_v1 import SCORE_MAX, ManagedCluster
from fleetqueue.api.quantity import Quantity
from fleetqueue.controllers.placement.plugins.interface import Prioritizer

RESOURCES: Final = {"ResourceAllocatableCPU": "cpu", "ResourceAllocatableMemory": "memory"}
"""From the name of a prioritizer to the resource that it looks at."""


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


def allocatable(cluster: ManagedCluster, resource: str) -> float | None:
    """Return how much a cluster has; None where it does not tell both what it has and what of it can be allocated."""
    status = cluster.status
    if resource not in status.allocatable or resource not in status.capacity:
        return None
    return approximately(status.allocatable[resource])


def share_score(amount: float, least: float, most: float) -> int:
    """Return -100 for the least and 100 for the most; all are equal where there is no difference."""
    if most == least:
        return SCORE_MAX
    return int(((amount - least) / (most - least) - 0.5) * 2.0 * SCORE_MAX)


def approximately(amount: Quantity) -> float:
    """Return a quantity as Go's AsApproximateFloat64 does, to the last bit: digits first, then the power of ten."""
    sign, digits, exponent = quantity.parse(amount).as_tuple()
    whole = float(int("".join(map(str, digits))) * (-1 if sign else 1))
    return whole * 10.0 ** int(exponent) if exponent else whole

"""ResourceAllocatableCPU and ResourceAllocatableMemory: how much of a resource clusters have to give, as scores."""

from typing import Final

from fleetqueue.api import quantity
from fleetqueue.api.cluster_v1 import SCORE_MAX, ManagedCluster
from fleetqueue.api.quantity import Quantity

RESOURCES: Final = {"ResourceAllocatableCPU": "cpu", "ResourceAllocatableMemory": "memory"}
"""From the name of a prioritizer to the resource that it looks at."""


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

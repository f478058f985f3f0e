"""The dominant resource share of a ClusterQueue or Cohort: how much it borrows of what there is to be had.

Of each resource, over all flavors, what is used above quota is taken in thousandths of what the cohort above could give
if nothing were used. The resource of which this is the most counts, divided by the weight of the node.

Mirrors: Kueue pkg/cache/scheduler/fair_sharing.go
"""

import math
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from fleetqueue.embedded.kueue.scheduling.amounts import LARGEST
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource, Quantities
from fleetqueue.embedded.kueue.scheduling.quota import ResourceNode

LOWEST: Final = (0, -1.0)
"""Below the order of every share."""


@dataclass(frozen=True, slots=True)
class DominantResourceShare:
    weight: float
    unweighted: float = 0.0
    borrowed: Set[FlavorResource] = frozenset()
    """What is used above quota."""

    @property
    def is_borrowing(self) -> bool:
        return bool(self.borrowed)

    def is_borrowing_on(self, wanted: Quantities) -> bool:
        return any(wanted.get(what, 0) > 0 for what in self.borrowed)

    @property
    def weighted(self) -> float:
        """Return the share; it has no end for a node of no weight that borrows."""
        if not self.unweighted:
            return 0.0
        return self.unweighted / self.weight if self.weight else math.inf

    @property
    def order(self) -> tuple[int, float]:
        """Who has a lower one goes first, and is preempted last; nodes of no weight that borrow come after all."""
        if self.unweighted and not self.weight:
            return 1, self.unweighted
        return 0, self.weighted


def dominant_resource_share(node: ResourceNode) -> DominantResourceShare:
    """Return the share of a node with what is used now; a root borrows of nobody."""
    if node.parent is None:
        return DominantResourceShare(node.weight)
    borrowed = {
        what: over for what, quota in node.subtree_quota.items() if (over := node.usage.get(what, 0) - quota) > 0
    }
    by_resource: Counter[str] = Counter()
    for what, over in borrowed.items():
        by_resource[what.resource] += over
    lendable = _lendable(node.parent, by_resource.keys())
    ratios = [over * 1000.0 / lendable[name] for name, over in by_resource.items() if lendable[name] > 0]
    return DominantResourceShare(node.weight, max(ratios, default=0.0), borrowed.keys())


def rounded(share: float) -> int:
    """Return a share as a status tells it."""
    return LARGEST if math.isinf(share) else math.ceil(share)


def _lendable(cohort: ResourceNode, resources: Set[str]) -> Counter[str]:
    """Return how much of some resources a cohort could give if nothing were used, over all flavors of its tree."""
    lendable: Counter[str] = Counter()
    if not resources:
        return lendable
    root = [cohort, *cohort.ancestors()][-1]
    for what in root.subtree_quota:
        if what.resource in resources:
            lendable[what.resource] += cohort.potentially_available(what)
    return Counter({name: min(value, LARGEST) for name, value in lendable.items()})

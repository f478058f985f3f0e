"""One topology-aware flavor: the tree of its nodes with what is free, and a Workload's usage of it.

Mirrors: Kueue pkg/cache/scheduler/tas_flavor.go
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fleetqueue.api.taints import Toleration
from fleetqueue.embedded.kueue.scheduling.amounts import Requests
from fleetqueue.embedded.kueue.topology.counting import CountedTrees
from fleetqueue.embedded.kueue.topology.tree import Tree, Values, of_pods, times


@dataclass(frozen=True, slots=True)
class DomainUsage:
    """So many pods of a Workload in one domain."""

    values: Values
    single_pod: Requests
    count: int

    @property
    def total(self) -> Requests:
        return of_pods(self.single_pod, self.count)


TopologyUsage = Mapping[str, Sequence[DomainUsage]]
"""By flavor."""


@dataclass(frozen=True, slots=True, eq=False)
class FlavorTopology:
    name: str
    topology: str
    tree: Tree
    counted: CountedTrees
    tolerations: Sequence[Toleration] = ()

    def use(self, usage: Iterable[DomainUsage], sign: int = 1) -> None:
        """Take what Workloads use; with -1 give it back. A domain whose nodes are gone is passed over."""
        for domain in usage:
            if (leaf := self.tree.leaves.get(domain.values)) is not None:
                leaf.use(domain.total, sign)

    def fits(self, usage: Iterable[DomainUsage]) -> bool:
        """Tell whether every domain still has room for what is to be placed there."""
        for domain in usage:
            leaf = self.tree.leaves.get(domain.values)
            if leaf is None or times(domain.single_pod, leaf.remaining) < domain.count:
                return False
        return True

"""The algebra of quota: what a queue, or a cohort of queues, has, lends, borrows and still has left.

Every ClusterQueue and every Cohort is a node; a node's parent is the cohort that it belongs to. For each flavor and
resource a node has a quota of its own. What of it may be lent lies with the parent, and so on up to the root; what may
not (`local_quota`) stays. Usage is noted in the same way: first on what is local, the rest with the parent.

Mirrors: Kueue pkg/cache/scheduler/resource_node.go
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fleetqueue.api.kueue_v1beta2 import ResourceGroup
from fleetqueue.embedded.kueue.scheduling.amounts import amount
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource, Quantities


class Quota(NamedTuple):
    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


NONE = Quota()
Quotas = dict[FlavorResource, Quota]


def quotas(groups: Iterable[ResourceGroup]) -> Quotas:
    """Read the quotas of a ClusterQueue or Cohort."""
    return {
        FlavorResource(flavor.name, resource.name): Quota(
            amount(resource.name, resource.nominal_quota),
            None if resource.borrowing_limit is None else amount(resource.name, resource.borrowing_limit),
            None if resource.lending_limit is None else amount(resource.name, resource.lending_limit),
        )
        for group in groups
        for flavor in group.flavors
        for resource in flavor.resources
    }


@dataclass(slots=True, eq=False)
class ResourceNode:
    name: str
    parent: "ResourceNode | None" = None
    quotas: Quotas = field(default_factory=dict)
    subtree_quota: dict[FlavorResource, int] = field(default_factory=dict)
    """Its own quota and what its children lend."""
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    weight: float = 1.0
    """By what its share of what is borrowed is divided, with fair sharing."""

    def ancestors(self) -> Iterator["ResourceNode"]:
        """Go from the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def path(self) -> str:
        """Where it stands, from the root: `/trunk/branch/queue`."""
        above = [node.name for node in self.ancestors()]
        return f"/{'/'.join((*reversed(above), self.name))}"

    def quota(self, what: FlavorResource) -> Quota:
        return self.quotas.get(what, NONE)

    def local_quota(self, what: FlavorResource) -> int:
        """What it does not lend."""
        limit = self.quota(what).lending_limit
        return 0 if limit is None else max(0, self.subtree_quota.get(what, 0) - limit)

    def local_available(self, what: FlavorResource) -> int:
        return max(0, self.local_quota(what) - self.usage.get(what, 0))

    def available(self, what: FlavorResource) -> int:
        """What more it could use now, with what others have left; less than 0 where too much is used."""
        quota, used = self.subtree_quota.get(what, 0), self.usage.get(what, 0)
        if self.parent is None:
            return quota - used
        of_parent = self.parent.available(what)
        limit = self.quota(what).borrowing_limit
        if limit is not None:
            local = self.local_quota(what)
            of_parent = min(of_parent, quota - local - max(0, used - local) + limit)
        return self.local_available(what) + of_parent

    def potentially_available(self, what: FlavorResource) -> int:
        """What it could use if nothing were used."""
        quota = self.subtree_quota.get(what, 0)
        if self.parent is None:
            return quota
        most = self.local_quota(what) + self.parent.potentially_available(what)
        limit = self.quota(what).borrowing_limit
        return most if limit is None else min(quota + limit, most)

    def would_borrow(self, what: FlavorResource, value: int) -> bool:
        return self.subtree_quota.get(what, 0) < self.usage.get(what, 0) + value

    def is_within_quota(self, flavor_resources: Iterable[FlavorResource]) -> bool:
        return all(not self.would_borrow(what, 0) for what in flavor_resources)

    def fits(self, wanted: Quantities) -> bool:
        return all(max(0, self.available(what)) >= value for what, value in wanted.items())

    def add(self, what: FlavorResource, value: int) -> None:
        """Note usage; also, as a negative value, that there is less of it."""
        used, local = self.usage.get(what, 0), self.local_quota(what)
        self.usage[what] = used + value
        passed_on = max(0, used + value - local) - max(0, used - local)
        if self.parent is not None and passed_on:
            self.parent.add(what, passed_on)

    def add_all(self, usage: Quantities, sign: int = 1) -> None:
        for what, value in usage.items():
            self.add(what, sign * value)


def remaining(node: ResourceNode, wanted: Quantities) -> tuple[bool, Quantities]:
    """Tell whether a node's quota holds what is wanted beside what is used; and what its parent must hold of it."""
    fits = all(not node.would_borrow(what, value) for what, value in wanted.items())
    return fits, {what: max(0, value - node.local_available(what)) for what, value in wanted.items()}


def total(children: Iterable[ResourceNode], own: Mapping[FlavorResource, Quota]) -> dict[FlavorResource, int]:
    """Add up a cohort's quota: its own and what its children lend."""
    quota = {what: own_quota.nominal for what, own_quota in own.items()}
    for child in children:
        for what, value in child.subtree_quota.items():
            quota[what] = quota.get(what, 0) + value - child.local_quota(what)
    return quota


def total_usage(children: Iterable[ResourceNode]) -> dict[FlavorResource, int]:
    """Add up what a cohort's children use of what they lend, or borrow."""
    usage: dict[FlavorResource, int] = {}
    for child in children:
        for what, value in child.usage.items():
            if passed_on := max(0, value - child.local_quota(what)):
                usage[what] = usage.get(what, 0) + passed_on
    return usage

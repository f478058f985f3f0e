"""The order of the heads of a cycle with fair sharing: a tournament in each tree of cohorts.

In every cohort the child wins that would have the lowest share with its head admitted, and the winner goes up one
level. Whoever wins at the root is decided on, and the next tournament is held with the usage that came of it.

Mirrors: Kueue pkg/scheduler/fair_sharing_iterator.go
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from fleetqueue.embedded.kueue.scheduling.cohorts import CohortNode, Queue
from fleetqueue.embedded.kueue.scheduling.dominant_resource_share import dominant_resource_share
from fleetqueue.embedded.kueue.scheduling.queue_usage import Quantities
from fleetqueue.embedded.kueue.scheduling.quota import ResourceNode

Rank = tuple[object, ...]
"""The lowest goes first."""


class Contender(Protocol):
    """A head that was nominated."""

    @property
    def queue_node(self) -> Queue: ...
    @property
    def assigned_usage(self) -> Quantities: ...
    @property
    def order(self) -> tuple[object, ...]:
        """Who comes first of those with equal shares."""
        ...


C = TypeVar("C", bound=Contender)


def in_fair_order(heads: Iterable[C], *, non_borrowing_first: bool) -> Iterator[C]:
    """Yield heads, each when it is its turn: what is done with one before the next is asked for counts.

    Args:
        non_borrowing_first: whether who would borrow nothing that it asks for goes before all shares.
    """
    by_queue: dict[str, list[C]] = {}
    for head in heads:
        by_queue.setdefault(head.queue_node.name, []).append(head)
    tournament = _Tournament(by_queue, non_borrowing_first)
    while by_queue:
        queue = next(iter(by_queue.values()))[0].queue_node
        first = tournament.winner([queue, *queue.ancestors()][-1])
        assert first is not None
        name = first.queue_node.name
        by_queue[name].pop(0)
        if not by_queue[name]:
            del by_queue[name]
        yield first


@dataclass(slots=True)
class _Tournament(Generic[C]):
    by_queue: dict[str, list[C]]
    non_borrowing_first: bool
    _ranks: dict[ResourceNode, tuple[C, Rank]] = field(default_factory=dict)
    """How each node ranks with its best head. It holds as long as that head is the best: nothing below a node is used
    before the head has won. So a tree is not added up anew for each head."""

    def winner(self, node: ResourceNode) -> C | None:
        """Return the best head below a node; None where there is none left."""
        if not isinstance(node, CohortNode):
            return self.by_queue[node.name][0] if node.name in self.by_queue else None
        best, lowest = None, None
        for child in (*node.cohorts.values(), *node.queues.values()):
            head = self.winner(child)
            if head is not None and (lowest is None or self._rank(child, head) < lowest):
                best, lowest = head, self._rank(child, head)
        return best

    def _rank(self, node: ResourceNode, head: C) -> Rank:
        known = self._ranks.get(node)
        if known is None or known[0] is not head:
            known = self._ranks[node] = head, self._rank_now(node, head)
        return known[1]

    def _rank_now(self, node: ResourceNode, head: C) -> Rank:
        """Return how a node ranks were its head admitted."""
        usage = head.assigned_usage
        head.queue_node.add_all(usage)
        share = dominant_resource_share(node)
        head.queue_node.add_all(usage, -1)
        is_late = self.non_borrowing_first and share.is_borrowing_on(usage)
        return is_late, share.order, head.order

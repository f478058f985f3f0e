"""Rules of fair sharing: the share that each has, and who goes first by it, or by what was used.

No recorded scenario is decided by a head that borrows something it does not ask for, by the penalty of a Workload that
was just given quota, or by what is forgotten of usage: unit tests ask for these.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from fleetqueue.api.quantity import Amounts
from fleetqueue.embedded.kueue.scheduling import admission_fair_sharing as by_usage
from fleetqueue.embedded.kueue.scheduling import cycle
from fleetqueue.embedded.kueue.scheduling import dominant_resource_share as shares
from fleetqueue.embedded.kueue.scheduling.cache_view import CacheView
from fleetqueue.embedded.kueue.scheduling.cohorts import CohortNode, Forest, Queue
from fleetqueue.embedded.kueue.scheduling.dominant_resource_share import DominantResourceShare
from fleetqueue.embedded.kueue.scheduling.fair_sharing_order import Contender, Rank, _Tournament
from fleetqueue.embedded.kueue.scheduling.pending_queue import AT_ONCE, PendingQueue, Requeue
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource
from fleetqueue.embedded.kueue.scheduling.quota import Quotas, ResourceNode
from fleetqueue.embedded.kueue.scheduling.workload_info import WorkloadInfo

from .mutation import Mutation, always, by_chance

share_of, lendable = shares.dominant_resource_share, shares._lendable
rank_now, turn = _Tournament._rank_now, PendingQueue._turn
set_queue, set_cohort = Forest.set_queue, Forest.set_cohort
decayed, weighted_usage = by_usage.decayed, by_usage.weighted_usage


def _root(node: ResourceNode) -> Any:
    return [node, *node.ancestors()][-1]


def _with_what_is_kept(cohort: ResourceNode, resources: Set[str]) -> Counter[str]:
    found = lendable(cohort, resources)
    for queue in _root(cohort).subtree_queues():
        for what in queue.subtree_quota:
            if what.resource in resources:
                found[what.resource] += queue.local_quota(what)
    return found


def _what_is_free(cohort: ResourceNode, resources: Set[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for what in _root(cohort).subtree_quota:
        if what.resource in resources:
            found[what.resource] += max(0, _root(cohort).available(what))
    return found


def _over(node: ResourceNode) -> dict[FlavorResource, int]:
    return {what: node.usage[what] - node.subtree_quota[what] for what in share_of(node).borrowed}


def _by_flavor(node: ResourceNode) -> DominantResourceShare:
    if node.parent is None:
        return share_of(node)
    ratios = [over * 1000.0 / (node.parent.potentially_available(what) or 1) for what, over in _over(node).items()]
    return replace(share_of(node), unweighted=max(ratios, default=0.0))


def _share_by(
    amounts: Callable[[ResourceNode], Mapping[FlavorResource, int]], choose: Callable[..., float] = max
) -> Callable[[ResourceNode], DominantResourceShare]:
    """Return shares of other amounts than of what is borrowed, or of another resource than the one with the most."""

    def share(node: ResourceNode) -> DominantResourceShare:
        if node.parent is None:
            return share_of(node)
        by_resource: Counter[str] = Counter()
        for what, value in amounts(node).items():
            by_resource[what.resource] += value
        there = lendable(node.parent, by_resource.keys())
        ratios = [value * 1000.0 / there[name] for name, value in by_resource.items() if there[name] > 0]
        return replace(share_of(node), unweighted=choose(ratios, default=0.0))

    return share


def _queue_of_weight_one(self: Forest, name: str, cohort: str, quotas: Quotas, weight: float = 1.0) -> Queue:
    return set_queue(self, name, cohort, quotas)


def _cohort_of_weight_one(self: Forest, name: str, parent: str, quotas: Quotas, weight: float = 1.0) -> None:
    set_cohort(self, name, parent, quotas)


def _as_things_stand(self: _Tournament[Any], node: ResourceNode, head: Contender) -> Rank:
    share = share_of(node)
    return self.non_borrowing_first and share.is_borrowing_on(head.assigned_usage), share.order, head.order


def _of_the_head_alone(self: _Tournament[Any], node: ResourceNode, head: Contender) -> Rank:
    used = dict(head.queue_node.usage)
    head.queue_node.add_all(used, -1)
    rank = rank_now(self, node, head)
    head.queue_node.add_all(used)
    return rank


def _whatever_priority(self: _Tournament[Any], node: ResourceNode, head: Contender) -> Rank:
    is_late, share, _ = rank_now(self, node, head)
    return is_late, share, head.order[1:]


def _newest_first(self: _Tournament[Any], node: ResourceNode, head: Any) -> Rank:
    is_late, share, _ = rank_now(self, node, head)
    priority, since, uid = head.order
    return is_late, share, (priority, -since.timestamp(), uid)


def _among_queues(self: _Tournament[Any], root: CohortNode) -> Any:
    """Compare all queues of a tree with each other, wherever they stand."""
    heads = [heads[0] for heads in self.by_queue.values() if _root(heads[0].queue_node) is root]
    return min(heads, key=lambda head: self._rank(head.queue_node, head), default=None)


def _usual_order(self: cycle.Cycle, nominated: Sequence[cycle.SchedulingEntry]) -> Iterable[cycle.SchedulingEntry]:
    return sorted(nominated, key=cycle._turn)


def _as_best_effort(self: PendingQueue, work: WorkloadInfo, why: Requeue) -> bool:
    has_more = work.tried is not None and work.tried.has_more
    return why in AT_ONCE or has_more or self._woken_at >= self._taken


def _priority_first(self: PendingQueue, work: WorkloadInfo) -> tuple[object, ...]:
    used, is_behind, order = turn(self, work)
    return is_behind, work.order[0], used, order


def _of_weight_one(amounts: Amounts, weight: float, resource_weights: Mapping[str, float]) -> float:
    return weighted_usage(amounts, 1.0, resource_weights)


def _of_all_resources(amounts: Amounts, weight: float, resource_weights: Mapping[str, float]) -> float:
    return weighted_usage(amounts, weight, {})


MUTATIONS = (
    Mutation(
        "what is not lent is no part of what there is",
        shares,
        "_lendable",
        _with_what_is_kept,
        ("what is not lent is not shared", "a lending limit keeps what is its own", *by_chance(4, 6, 11, 14, 22)),
    ),
    Mutation(
        "a share is of what there is, used or not",
        shares,
        "_lendable",
        _what_is_free,
        ("who borrows has a share", "cohorts have shares, too", "they take turns until all is taken"),
    ),
    Mutation(
        "all flavors of a resource make one share",
        shares,
        "dominant_resource_share",
        _by_flavor,
        ("all flavors of a resource make one share", *by_chance(0, 2, 15, 20, 23)),
    ),
    Mutation(
        "of the resources the one counts of which most is borrowed",
        shares,
        "dominant_resource_share",
        _share_by(_over, min),
        (
            "the share is that of the resource of which it has most",
            "the resource of which most is borrowed decides",
        ),
    ),
    Mutation(
        "what is within quota makes no share",
        shares,
        "dominant_resource_share",
        _share_by(lambda node: node.usage),
        (
            "who does not borrow has none",
            "a weight of nothing that does not borrow has no share",
            "a share goes with its borrower",
            "who does not borrow goes first",
            "from who does not borrow nothing is taken",
            *by_chance(3, 10, 13, 16),
        ),
    ),
    Mutation(
        "a weight divides the share",
        DominantResourceShare,
        "weighted",
        property(lambda self: self.unweighted),
        (
            "a larger weight makes the share smaller",
            "a weight that changes changes the share",
            "a larger weight goes first",
            *by_chance(0, 7, 9, 19),
        ),
    ),
    Mutation(
        "who has no weight and borrows has a share without end",
        DominantResourceShare,
        "weighted",
        property(lambda self: self.unweighted / self.weight if self.weight else 0.0),
        (
            "a weight of nothing that borrows has the largest share",
            "a cohort of weight nothing",
            *by_chance(1, 5, 12, 17),
        ),
    ),
    Mutation(
        "of those without weight the one that borrows less goes first",
        DominantResourceShare,
        "order",
        property(lambda self: (0, self.weighted)),
        ("of two weights of nothing the one that takes less goes first",),
    ),
    Mutation(
        "ClusterQueues have weights",
        Forest,
        "set_queue",
        _queue_of_weight_one,
        ("a weight of nothing goes last", "weights are shared out two to one", *by_chance(4, 11, 14)),
    ),
    Mutation(
        "Cohorts have weights",
        Forest,
        "set_cohort",
        _cohort_of_weight_one,
        ("the weight of a branch decides", "cohorts have shares, too", *by_chance(6, 8, 18, 21)),
    ),
    Mutation(
        "shares are rounded up",
        shares,
        "rounded",
        lambda share: min(int(min(share, 2**62)), 2**62),
        ("a larger weight makes the share smaller", "what is not lent is not shared", *by_chance(3, 10)),
    ),
    Mutation(
        "shares decide who goes first",
        cycle.Cycle,
        "_in_order",
        _usual_order,
        ("the lowest share goes first", "a larger weight goes first", *by_chance(5, 7, 21)),
    ),
    Mutation(
        "the share counts that each would have",
        _Tournament,
        "_rank_now",
        _as_things_stand,
        ("the lowest share goes first", "who does not borrow goes first", *by_chance(7, 19, 21)),
    ),
    Mutation(
        "what each has already counts",
        _Tournament,
        "_rank_now",
        _of_the_head_alone,
        ("what it has already counts",),
    ),
    Mutation(
        "of equal shares the higher priority goes first",
        _Tournament,
        "_rank_now",
        _whatever_priority,
        ("of equal shares the higher priority goes first",),
    ),
    Mutation(
        "of equal shares the oldest goes first",
        _Tournament,
        "_rank_now",
        _newest_first,
        ("of equal shares the oldest goes first",),
    ),
    Mutation(
        "branches are compared before their queues",
        _Tournament,
        "winner",
        _among_queues,
        ("branches are compared before their queues",),
    ),
    Mutation(
        "the head of a strict queue is tried until it goes",
        PendingQueue,
        "_is_tried_again",
        _as_best_effort,
        ("a strict queue does not let a fairer one wait",),
    ),
    Mutation(
        "the LocalQueue that has used less goes first",
        CacheView,
        "is_by_usage",
        always(False),
        ("who has used less goes first", "usage is forgotten in time"),
    ),
    Mutation(
        "only where a ClusterQueue says so",
        CacheView,
        "is_by_usage",
        always(True),
        ("without that mode the oldest goes first",),
    ),
    Mutation(
        "usage goes before priority",
        PendingQueue,
        "_turn",
        _priority_first,
        ("usage goes before priority", "usage is forgotten in time"),
    ),
    Mutation(
        "a weight makes usage count for less",
        by_usage,
        "weighted_usage",
        _of_weight_one,
        ("a weight makes usage count for less",),
    ),
    Mutation(
        "resources have weights",
        by_usage,
        "weighted_usage",
        _of_all_resources,
        ("a resource without weight does not count",),
    ),
    Mutation(
        "usage is counted in time",
        by_usage,
        "decayed",
        lambda consumed, used, seconds, half_life: decayed(consumed, {}, seconds, half_life),
        ("who has used less goes first", "usage goes before priority", "usage is forgotten in time"),
    ),
)

"""The trees of ClusterQueues and Cohorts, with their quotas added up.

A Cohort exists as soon as an object names it, with or without an object of its own. A change of the shape of a tree, or
of a quota in it, makes the whole tree be added up again; usage alone moves along one path.

Mirrors: Kueue pkg/cache/hierarchy
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fleetqueue.embedded.kueue.scheduling.queue_usage import Quantities
from fleetqueue.embedded.kueue.scheduling.quota import Quotas, ResourceNode, total, total_usage
from fleetqueue.embedded.kueue.topology.flavor_topology import FlavorTopology, TopologyUsage


@dataclass(slots=True, eq=False)
class Queue(ResourceNode):
    generation: int = 0
    """Grows whenever there may be more to be had: a quota changed, or a Workload left."""
    topologies: Mapping[str, FlavorTopology] = field(default_factory=dict)
    """The topology-aware flavors."""

    def use(self, usage: Quantities, topology: TopologyUsage, sign: int = 1) -> None:
        """Look at the queue as if somebody used this; with -1 as if nobody did."""
        self.add_all(usage, sign)
        for flavor, domains in topology.items():
            if flavor in self.topologies:
                self.topologies[flavor].use(domains, sign)

    def has_room(self, topology: TopologyUsage) -> bool:
        """Tell whether the domains still have room for what was placed there."""
        return all(self.topologies[flavor].fits(domains) for flavor, domains in topology.items())


@dataclass(slots=True, eq=False)
class CohortNode(ResourceNode):
    queues: dict[str, Queue] = field(default_factory=dict)
    cohorts: "dict[str, CohortNode]" = field(default_factory=dict)
    is_explicit: bool = False

    @property
    def height(self) -> int:
        """How many levels stand below it."""
        below = [cohort.height + 1 for cohort in self.cohorts.values()]
        return max(below, default=min(len(self.queues), 1))

    def subtree_queues(self) -> Iterator[Queue]:
        yield from self.queues.values()
        for cohort in self.cohorts.values():
            yield from cohort.subtree_queues()


class Forest:
    def __init__(self, topologies: Mapping[str, FlavorTopology] | None = None) -> None:
        self.topologies = {} if topologies is None else topologies
        self.queues: dict[str, Queue] = {}
        self.cohorts: dict[str, CohortNode] = {}

    def set_queue(self, name: str, cohort: str, quotas: Quotas, weight: float = 1.0) -> Queue:
        """Add a ClusterQueue, or change its quotas, its cohort or its weight."""
        queue = self.queues.setdefault(name, Queue(name, topologies=self.topologies))
        queue.weight = weight
        before = queue.parent.name if queue.parent is not None else ""
        if queue.generation and (before, queue.quotas) == (cohort, quotas):
            return queue
        queue.quotas = quotas
        self._move_queue(queue, cohort)
        return queue

    def remove_queue(self, name: str) -> None:
        queue = self.queues.pop(name, None)
        if queue is not None:
            self._move_queue(queue, "")

    def set_cohort(self, name: str, parent: str, quotas: Quotas, weight: float = 1.0) -> None:
        """Add a Cohort's object, or change its quotas, its parent or its weight."""
        cohort = self._cohort(name)
        cohort.weight = weight
        before = cohort.parent.name if cohort.parent is not None else ""
        if cohort.is_explicit and (before, cohort.quotas) == (parent, quotas):
            return
        cohort.is_explicit, cohort.quotas = True, quotas
        self._move_cohort(cohort, parent)

    def remove_cohort(self, name: str) -> None:
        """Forget an object; the cohort stays while others name it."""
        cohort = self.cohorts.get(name)
        if cohort is not None:
            cohort.is_explicit, cohort.quotas = False, {}
            self._move_cohort(cohort, "")
            self._drop_if_unused(cohort)

    def tree(self, queue: str) -> str:
        """Name the tree that a ClusterQueue stands in: `/<root cohort>`, or its own name where it is alone.

        A tree that runs in circles has no name.
        """
        node = self.queues.get(queue)
        if node is None or self.is_in_cycle(queue):
            return ""
        above = [*node.ancestors()]
        return f"/{above[-1].name}" if above else queue

    def queues_of(self, tree: str) -> list[str]:
        """Return the ClusterQueues of a tree."""
        if not tree.startswith("/"):
            return [tree] if tree in self.queues else []
        root = self.cohorts.get(tree.removeprefix("/"))
        if root is None or root.parent is not None:
            return []
        return [queue.name for queue in root.subtree_queues()]

    def a_queue_below(self, cohort: str) -> str:
        """Return one ClusterQueue of a cohort's tree, or nothing; also of one that runs in circles."""
        seen, ahead = set(), [cohort]
        while ahead:
            node = self.cohorts.get(ahead.pop())
            if node is None or node.name in seen:
                continue
            seen.add(node.name)
            if node.queues:
                return next(iter(node.queues))
            ahead += node.cohorts
        return ""

    def whole_cohorts(self) -> list[CohortNode]:
        """Return the cohorts of all trees that do not run in circles."""
        return [cohort for cohort in self.cohorts.values() if not runs_in_circles(cohort)]

    def is_in_cycle(self, queue: str) -> bool:
        node = self.queues.get(queue)
        return node is not None and node.parent is not None and runs_in_circles(node.parent)

    def _cohort(self, name: str) -> CohortNode:
        return self.cohorts.setdefault(name, CohortNode(name))

    def _move_queue(self, queue: Queue, cohort: str) -> None:
        old = self.cohorts[queue.parent.name] if queue.parent is not None else None
        new = self._cohort(cohort) if cohort else None
        if old is not None:
            del old.queues[queue.name]
        queue.parent = new
        if new is not None:
            new.queues[queue.name] = queue
        self._left(old)
        _count_queue(queue)
        self._recount(new)

    def _move_cohort(self, cohort: CohortNode, parent: str) -> None:
        old = self.cohorts[cohort.parent.name] if cohort.parent is not None else None
        new = self._cohort(parent) if parent else None
        if old is not None:
            del old.cohorts[cohort.name]
        cohort.parent = new
        if new is not None:
            new.cohorts[cohort.name] = cohort
        self._left(old)
        self._recount(cohort)

    def _left(self, cohort: CohortNode | None) -> None:
        if cohort is not None:
            self._recount(cohort)
            self._drop_if_unused(cohort)

    def _drop_if_unused(self, cohort: CohortNode) -> None:
        if not (cohort.is_explicit or cohort.queues or cohort.cohorts):
            self.cohorts.pop(cohort.name, None)

    def _recount(self, cohort: CohortNode | None) -> None:
        """Add up the tree that a cohort stands in; one that runs in circles cannot be."""
        if cohort is None or runs_in_circles(cohort):
            return
        top = [cohort, *(self.cohorts[node.name] for node in cohort.ancestors())][-1]
        _count_cohort(top)


def runs_in_circles(node: ResourceNode) -> bool:
    seen = set()
    while node.parent is not None:
        if node.name in seen:
            return True
        seen.add(node.name)
        node = node.parent
    return False


def _count_queue(queue: Queue) -> None:
    queue.generation += 1
    queue.subtree_quota = {what: quota.nominal for what, quota in queue.quotas.items()}


def _count_cohort(cohort: CohortNode) -> None:
    for child in cohort.cohorts.values():
        _count_cohort(child)
    for queue in cohort.queues.values():
        _count_queue(queue)
    children = [*cohort.cohorts.values(), *cohort.queues.values()]
    cohort.subtree_quota = total(children, cohort.quotas)
    cohort.usage = total_usage(children)

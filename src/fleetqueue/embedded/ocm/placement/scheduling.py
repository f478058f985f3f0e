"""Keep the PlacementDecisions and the status of every Placement right.

A Placement's ranking is kept between two looks, so that a changed score costs the work of one cluster, however many
there are. All that is kept can be had from the caches again: after a restart the first look is a whole one.

Reads:   Placement, ManagedClusterSetBinding, ManagedClusterSet, ManagedCluster, AddOnPlacementScore, PlacementDecision
Writes:  PlacementDecision and its status, Placement status, Events
Mirrors: OCM pkg/placement/controllers/scheduling
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry, Histogram

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import (
    SCHEDULING_DISABLED,
    AddOnPlacementScore,
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
    PlacementDecision,
)
from fleetqueue.api.meta import key_of, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.placement.decision_events import DecisionRecorder
from fleetqueue.embedded.ocm.placement.decision_writes import BY_PLACEMENT, CacheSync, WrittenDecisions, write
from fleetqueue.embedded.ocm.placement.eligibility import bound_sets, check_sets, eligible_sets
from fleetqueue.embedded.ocm.placement.enqueuer import BY_NAMESPACE, Enqueuer
from fleetqueue.embedded.ocm.placement.plan import DecisionPlan, planned
from fleetqueue.embedded.ocm.placement.plugins.decision_counts import DecisionCounts
from fleetqueue.embedded.ocm.placement.plugins.selectors import CompileExpression
from fleetqueue.embedded.ocm.placement.ranking import Ranking
from fleetqueue.embedded.ocm.placement.settings import PlacementSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

NAME: Final = "placement_scheduling"
BUCKETS: Final = tuple(1e-6 * 10**power for power in range(10))


class CachedFacts:
    """What a controller's caches show."""

    def __init__(self, hub: Cluster, placement: str, decision_counts: DecisionCounts) -> None:
        self.placement = placement
        self.decision_counts = decision_counts
        self._clusters = hub.informer(ManagedCluster).store
        self._scores = hub.informer(AddOnPlacementScore).store

    def cluster(self, name: str) -> ManagedCluster | None:
        return self._clusters.get(name)

    def raw_cluster(self, name: str) -> Manifest:
        return self._clusters.raw(name) or {"metadata": {"name": name}}

    def score(self, cluster: str, resource: str) -> AddOnPlacementScore | None:
        return self._scores.get(key_of(cluster, resource))


def count(decision_counts: DecisionCounts, decision: PlacementDecision) -> None:
    """Count what a PlacementDecision says."""
    decision_counts.put(
        decision.key,
        decision.placement_key,
        (cluster_decision.cluster_name for cluster_decision in decision.status.decisions),
    )


def placements_of(decision: PlacementDecision) -> tuple[str, ...]:
    """Return the key of the Placement that a decision belongs to; nothing where it names none."""
    return (decision.placement_key,) if decision.placement_key else ()


class PlacementMetrics:
    """Metrics, named as OCM names them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.scheduling = Histogram(
            "scheduling_scheduling_duration_seconds",
            "How long in seconds it takes to schedule a placement.",
            ["name"],
            buckets=BUCKETS,
            registry=registry,
        ).labels(NAME)
        self.binding = Histogram(
            "scheduling_bind_duration_seconds",
            "How long in seconds it takes to bind a placement to placementDecisions.",
            ["name"],
            buckets=BUCKETS,
            registry=registry,
        ).labels(NAME)


BURST: Final = 100
PER_SECOND: Final = 50.0


class RateLimit:
    """Limits how often the decisions of one Placement change.

    With a negative weight of Steady a cluster loses by being chosen, so that such a Placement changes its decisions for
    ever. OCM's client writes fifty times a second at most. Without a limit, it would keep a whole process busy.
    """

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}
        """From a Placement to how many changes it may still make, and when that was so."""

    def wait(self, placement: str) -> float:
        """Return for how many seconds a Placement must rest."""
        return max(1 - self._allowance(placement), 0.0) / PER_SECOND

    def changed(self, placement: str) -> None:
        self._left[placement] = (self._allowance(placement) - 1, clock.monotonic())

    def forget(self, placement: str) -> None:
        self._left.pop(placement, None)

    def _allowance(self, placement: str) -> float:
        left, since = self._left.get(placement, (BURST, 0.0))
        return min(left + (clock.monotonic() - since) * PER_SECOND, BURST)


LONGEST_NAME: Final = 63
"""A decision carries its Placement's name as a label, which cannot be longer."""

log = Log("placement")


class SchedulingController(Controller):
    """Schedules one Placement at a time: each looks at what the others chose."""

    name = "placement-scheduling"

    def __init__(
        self, hub: Cluster, metrics: Metrics, settings: PlacementSettings, *, compile_expression: CompileExpression
    ) -> None:
        super().__init__(hub, metrics)
        self.settings = settings
        self.compile_expression = compile_expression
        self.scheduling_metrics = PlacementMetrics(metrics.registry)
        self.enqueuer = Enqueuer(hub)
        self.decision_counts = DecisionCounts()
        self.rankings: dict[str, Ranking] = {}
        self.cache_sync = CacheSync(hub)
        self.rate_limit = RateLimit()
        self.recorder = DecisionRecorder(hub.client)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(Placement, by_key)
        yield Watch(PlacementDecision, placements_of)
        yield Watch(ManagedClusterSetBinding, self.enqueuer.of_binding)
        yield Watch(ManagedClusterSet, self.enqueuer.of_set)
        yield Watch(ManagedCluster, self.enqueuer.of_cluster)
        yield Watch(AddOnPlacementScore, self.enqueuer.of_score)

    def subscribe(self) -> None:
        decisions = self.hub.informer(PlacementDecision)
        decisions.store.add_index(BY_PLACEMENT, placements_of)
        decisions.subscribe(self._count)
        self.enqueuer.declare_indexes()
        self.cache_sync.listen()
        super().subscribe()

    async def work(self) -> None:
        """Work on keys and tell of it, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.recorder.run(), name="placement events")
            await super().work()

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        placement = self.hub.get(Placement, name, namespace)
        if placement is None or is_left_alone(placement):
            self._forget(key)
            return
        if len(name) > LONGEST_NAME:
            raise errors.TerminalError(f"the name of {placement} is longer than a label can be ({LONGEST_NAME})")
        if (rest := self.rate_limit.wait(key)) > 0:
            raise errors.RetryLater(rest, "its decisions change too often")
        started = clock.monotonic()
        ranking, plan = self._schedule(placement)
        bound = clock.monotonic()
        self.scheduling_metrics.scheduling.observe(bound - started)
        written = await write(self.hub, placement, plan)
        self.scheduling_metrics.binding.observe(clock.monotonic() - bound)
        if written:
            await self._after(placement, plan, ranking, written)
        raise errors.RetryLater(self._next_look(ranking, clock.now()), "the next look")

    def _schedule(self, placement: Placement) -> tuple[Ranking, DecisionPlan]:
        """Decide; nothing is awaited here, so that all is seen at one moment."""
        bindings = self.hub.by_index(ManagedClusterSetBinding, BY_NAMESPACE, placement.namespace)
        bound = bound_sets(bindings, lambda name: self.hub.get(ManagedClusterSet, name))
        sets = eligible_sets(placement, bound)
        check_sets(sets)
        ranking = self._ranked(placement, sets)
        plan = planned(placement, ranking.result(), bound=bound, sets=sets, cluster=ranking.facts.cluster)
        return ranking, plan

    def _ranked(self, placement: Placement, sets: Sequence[ManagedClusterSet]) -> Ranking:
        """Return the Placement's ranking, up to date: the one that is kept, if it still answers the question."""
        key = placement.key
        changed: Iterable[str] = self.enqueuer.take_touched(key)
        ranking = self.rankings.pop(key, None)  # kept again only once it is right
        if ranking is None or not ranking.stands_on(placement, sets):
            facts = CachedFacts(self.hub, key, self.decision_counts)
            ranking = Ranking(placement, sets, facts, self.compile_expression)
            changed = self.enqueuer.members(sets)
        ranking.refresh(changed, clock.now())
        self.rankings[key] = ranking
        return ranking

    async def _after(
        self, placement: Placement, plan: DecisionPlan, ranking: Ranking, written: WrittenDecisions
    ) -> None:
        """Let the cache catch up, then tell of it with the scores that the new decisions give."""
        if written.changed or written.deleted:
            self.rate_limit.changed(placement.key)
        log.info("decided", placement=placement.key, clusters=plan.selected, decisions=len(plan.decisions))
        await self.cache_sync.wait_for(written.kept, written.deleted)
        ranking.refresh((), clock.now())
        self.recorder.tell(placement, written, ranking.result())

    def _forget(self, key: str) -> None:
        self.rankings.pop(key, None)
        self.enqueuer.take_touched(key)
        self.rate_limit.forget(key)

    def _next_look(self, ranking: Ranking, now: datetime) -> float:
        change = ranking.next_change()
        wait = self.settings.resync if change is None else (change - now).total_seconds()
        return min(max(wait, 0.0), self.settings.resync)

    def _count(self, old: PlacementDecision | None, new: PlacementDecision | None) -> None:
        if new is not None:
            count(self.decision_counts, new)
        elif old is not None:
            self.decision_counts.remove(old.key)


def is_left_alone(placement: Placement) -> bool:
    """Tell whether a Placement is on its way out, or its owner wants nothing done."""
    return placement.is_deleting or placement.metadata.annotations.get(SCHEDULING_DISABLED) == "true"

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
from fleetqueue.api.meta import split_key
from fleetqueue.embedded.ocm.placement.cache_lag import CacheLag
from fleetqueue.embedded.ocm.placement.decision_events import DecisionRecorder
from fleetqueue.embedded.ocm.placement.eligibility import bound_sets, check_sets, eligible_sets
from fleetqueue.embedded.ocm.placement.facts import CachedFacts, count, placements_of
from fleetqueue.embedded.ocm.placement.measures import Measures
from fleetqueue.embedded.ocm.placement.plan import Plan, planned
from fleetqueue.embedded.ocm.placement.plugins.selectors import CompileExpression
from fleetqueue.embedded.ocm.placement.plugins.tally import Tally
from fleetqueue.embedded.ocm.placement.ranking import Ranking
from fleetqueue.embedded.ocm.placement.rate_limit import RateLimit
from fleetqueue.embedded.ocm.placement.settings import PlacementSettings
from fleetqueue.embedded.ocm.placement.wakers import BY_NAMESPACE, Wakers
from fleetqueue.embedded.ocm.placement.writing import BY_PLACEMENT, Written, write
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

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
        self.measures = Measures(metrics.registry)
        self.wakers = Wakers(hub)
        self.tally = Tally()
        self.rankings: dict[str, Ranking] = {}
        self.echo = CacheLag(hub)
        self.pace = RateLimit()
        self.recorder = DecisionRecorder(hub.client)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(Placement, by_key)
        yield Watch(PlacementDecision, placements_of)
        yield Watch(ManagedClusterSetBinding, self.wakers.of_binding)
        yield Watch(ManagedClusterSet, self.wakers.of_set)
        yield Watch(ManagedCluster, self.wakers.of_cluster)
        yield Watch(AddOnPlacementScore, self.wakers.of_score)

    def subscribe(self) -> None:
        decisions = self.hub.informer(PlacementDecision)
        decisions.store.add_index(BY_PLACEMENT, placements_of)
        decisions.subscribe(self._count)
        self.wakers.declare_indexes()
        self.echo.listen()
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
        if (rest := self.pace.wait(key)) > 0:
            raise errors.RetryLater(rest, "its decisions change too often")
        started = clock.monotonic()
        ranking, plan = self._schedule(placement)
        bound = clock.monotonic()
        self.measures.scheduling.observe(bound - started)
        written = await write(self.hub, placement, plan)
        self.measures.binding.observe(clock.monotonic() - bound)
        if written:
            await self._after(placement, plan, ranking, written)
        raise errors.RetryLater(self._next_look(ranking, clock.now()), "the next look")

    def _schedule(self, placement: Placement) -> tuple[Ranking, Plan]:
        """Decide; nothing is awaited here, so that all is seen at one moment."""
        bindings = self.hub.by_index(ManagedClusterSetBinding, BY_NAMESPACE, placement.namespace)
        bound = bound_sets(bindings, lambda name: self.hub.get(ManagedClusterSet, name))
        sets = eligible_sets(placement, bound)
        check_sets(sets)
        ranking = self._ranked(placement, sets)
        plan = planned(placement, ranking.outcome(), bound=bound, sets=sets, cluster=ranking.facts.cluster)
        return ranking, plan

    def _ranked(self, placement: Placement, sets: Sequence[ManagedClusterSet]) -> Ranking:
        """Return the Placement's ranking, up to date: the one that is kept, if it still answers the question."""
        key = placement.key
        changed: Iterable[str] = self.wakers.take_touched(key)
        ranking = self.rankings.pop(key, None)  # kept again only once it is right
        if ranking is None or not ranking.stands_on(placement, sets):
            facts = CachedFacts(self.hub, key, self.tally)
            ranking = Ranking(placement, sets, facts, self.compile_expression)
            changed = self.wakers.members(sets)
        ranking.refresh(changed, clock.now())
        self.rankings[key] = ranking
        return ranking

    async def _after(self, placement: Placement, plan: Plan, ranking: Ranking, written: Written) -> None:
        """Let the cache catch up, then tell of it with the scores that the new decisions give."""
        if written.changed or written.deleted:
            self.pace.changed(placement.key)
        log.info("decided", placement=placement.key, clusters=plan.selected, decisions=len(plan.decisions))
        await self.echo.heard(written.kept, written.deleted)
        ranking.refresh((), clock.now())
        self.recorder.tell(placement, written, ranking.outcome())

    def _forget(self, key: str) -> None:
        self.rankings.pop(key, None)
        self.wakers.take_touched(key)
        self.pace.forget(key)

    def _next_look(self, ranking: Ranking, now: datetime) -> float:
        change = ranking.next_change()
        wait = self.settings.resync if change is None else (change - now).total_seconds()
        return min(max(wait, 0.0), self.settings.resync)

    def _count(self, old: PlacementDecision | None, new: PlacementDecision | None) -> None:
        if new is not None:
            count(self.tally, new)
        elif old is not None:
            self.tally.remove(old.key)


def is_left_alone(placement: Placement) -> bool:
    """Tell whether a Placement is on its way out, or its owner wants nothing done."""
    return placement.is_deleting or placement.metadata.annotations.get(SCHEDULING_DISABLED) == "true"

"""Publish on the hub how much of a worker is free: the half of the score add-on that runs on the worker.

A change is published at once, or as soon as the last publication is old enough. While nothing changes, only the end of
the validity is moved on from time to time. What the agent cannot see it does not renew: when the worker's API does not
answer, its scores run out, and the hub half (`silent_agents.py`) takes over.

Reads:   Node, Pod (worker); AddOnPlacementScore, ManagedClusterAddOn (hub, the cluster's own namespace)
Writes:  AddOnPlacementScore and its status (hub, `resource-usage-score` in the cluster's own namespace)
Mirrors: addon-contrib, resource-usage-collect-addon/pkg/addon/agent
"""

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.cluster_v1 import AddOnPlacementScore
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.meta import time_of_write
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.usage_scores import FRESH, SCORE_RESOURCE
from fleetqueue.controllers.add_on_owner import owned_by_add_on
from fleetqueue.controllers.usage_scores import messages
from fleetqueue.controllers.usage_scores.settings import ScoreAgentSettings
from fleetqueue.controllers.usage_scores.usage import ClusterUsage, ScoredNode, ScoredPod, Scores, as_status, scores
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

KEY: Final = "scores"
"""There is one thing to keep right, so one key."""
TAKING: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
"""Pods that wait for a node, or have ended, take nothing: the API server need not even send them."""

log = Log("usage-scores")


class HubClock:
    """The hub's time, as a worker knows it.

    Until when scores are valid is compared with the hub's clock. A worker whose own clock is minutes behind would
    publish scores that are expired at birth; one that is ahead, scores that outlive a dead agent. The API server notes
    the time of each write in the object's managed fields and sends it back with the answer, so every write tells how
    far off we are.
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = timedelta(seconds=tolerance)
        self._ahead = timedelta()
        self.is_known = False
        """Whether a write has told the hub's time yet."""

    def now(self) -> datetime:
        return clock.now() + self._ahead

    def learn(self, answer: Manifest) -> bool:
        """Take the time from the answer to a write; return whether what was written had the wrong one."""
        self.is_known = True
        written = time_of_write(answer)
        error = written - self.now() if written else timedelta()
        if abs(error) <= self._tolerance:
            return False
        self._ahead += error
        log.warning("clock differs from the hub's", hub_is_ahead_by=round(self._ahead.total_seconds()))
        return True


class ScoreAgent(Controller):
    """Keep the scores of one worker right; the worker's `name` is that of its ManagedCluster and namespace."""

    name = "score-agent"

    def __init__(
        self, worker: Cluster, hub: Cluster, metrics: Metrics, settings: ScoreAgentSettings | None = None
    ) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings or ScoreAgentSettings()
        self.usage = ClusterUsage()
        self.hub_clock = HubClock(self.settings.clock_tolerance)
        self._next_look = 0.0
        self._next_publication = 0.0
        self._failures = 0
        self._refused = ""

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(
            AddOnPlacementScore,
            lambda score: (KEY,),
            namespace=self.worker.name,
            fields=f"metadata.name={SCORE_RESOURCE}",
        )

    def subscribe(self) -> None:
        super().subscribe()
        self.worker.informer(ScoredNode).subscribe(self._see_node)
        self.worker.informer(ScoredPod, fields=TAKING).subscribe(self._see_pod)

    async def run(self) -> None:
        """Follow both clusters and publish, until cancelled."""
        manager = Manager(self.hub, [self])
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.worker.run(), name=f"caches {self.worker.name}")
            await self.worker.synced()
            self.wake(KEY)  # a worker without nodes and pods has scores too
            await manager.run()

    async def reconcile(self, key: str) -> None:
        self._wait_for_turn()
        if problems := self.worker.problems():
            raise errors.RetryLater(self.settings.publish_interval, f"the worker cannot be seen: {problems}")
        live = self.hub.get(AddOnPlacementScore, SCORE_RESOURCE, self.worker.name)
        if live is not None and not is_ours(live):
            self._refuse(live)
        else:
            values = scores(self.usage.free(), self.settings.scale)
            if live is None or not self._is_current(live, values):
                await self._publish(live, values)
        raise errors.RetryLater(self.settings.refresh, "the next look")

    def _see_node(self, old: Node | None, new: Node | None) -> None:
        if self.usage.change_node(old, new):
            self.wake(KEY)

    def _see_pod(self, old: ScoredPod | None, new: ScoredPod | None) -> None:
        if self.usage.change_pod(old, new):
            self.wake(KEY)

    def _wait_for_turn(self) -> None:
        now = clock.monotonic()
        wait = max(self._next_look, self._next_publication) - now
        if wait > 0:
            raise errors.RetryLater(wait, "the last look or publication is too young")
        self._next_look = now + self.settings.look_interval

    def _refuse(self, live: AddOnPlacementScore) -> None:
        if live.uid != self._refused:
            log.warning("scores not published", cluster=self.worker.name, why=messages.foreign(str(live)))
        self._refused = live.uid

    def _is_current(self, live: AddOnPlacementScore, values: Scores) -> bool:
        """Tell whether the hub has these scores, in this order, from an agent, and for long enough."""
        status, settings = live.status, self.settings
        if status.valid_until is None or not self.hub_clock.is_known:
            return False
        left = (status.valid_until - self.hub_clock.now()).total_seconds()
        return (
            [(score.name, score.value) for score in status.scores] == list(values.items())
            and conditions.is_true(status.conditions, FRESH)
            and settings.validity / 2 <= left <= settings.validity + settings.clock_tolerance
        )

    async def _publish(self, live: AddOnPlacementScore | None, values: Scores) -> None:
        try:
            if live is None:
                score = AddOnPlacementScore.manifest(SCORE_RESOURCE, self.worker.name)
                score = await owned_by_add_on(self.hub.client, self.settings.add_on, score)
                await self.hub.ensure(AddOnPlacementScore, score)
            if self.hub_clock.learn(await self._write(live, values)):
                await self._write(live, values)
        except (errors.ApiError, errors.Unreachable):
            delay = min(self.settings.publish_interval * 2**self._failures, self.settings.refresh)
            self._failures = min(self._failures + 1, 10)
            self._next_publication = clock.monotonic() + clock.jitter(delay)
            raise
        self._failures = 0
        self._next_publication = clock.monotonic() + self.settings.publish_interval
        self._log_changes(live, values)

    async def _write(self, live: AddOnPlacementScore | None, values: Scores) -> Manifest:
        """Write without a precondition: against the hub half, the agent is always right."""
        fresh = Condition.true(FRESH, *messages.published())
        valid_until = self.hub_clock.now() + timedelta(seconds=self.settings.validity)
        status = {
            "scores": as_status(values),
            "validUntil": conditions.timestamp(valid_until),
            "conditions": conditions.dated([fresh], live.status.conditions if live else (), now=self.hub_clock.now()),
        }
        return await self.hub.client.merge(
            AddOnPlacementScore.resource, SCORE_RESOURCE, self.worker.name, {"status": status}, subresource="status"
        )

    def _log_changes(self, live: AddOnPlacementScore | None, values: Scores) -> None:
        changed = {name: value for name, value in values.items() if live is None or live.value(name) != value}
        if changed:
            log.info("scores published", cluster=self.worker.name, **changed)

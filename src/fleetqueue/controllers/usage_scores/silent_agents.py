"""Stand in for score agents that are silent: the half of the score add-on that runs on the hub.

OCM counts a missing or expired score as 0, which beats a cluster with fewer than ten free GPUs. So clusters whose agent
fell silent, or never spoke, get the lowest scores instead, with a condition that says why. It never quarrels with a
living agent: it writes only when a validity is all but over (agents renew at half) and only over the very version that
it saw; the agent follows the object and simply writes over it. Both count by the hub's clock (`HubClock`).

Reads:   ManagedCluster, AddOnPlacementScore
Writes:  AddOnPlacementScore and its status (`resource-usage-score`, only where it is ours), Events on it
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final

from prometheus_client import Gauge

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.cluster_v1 import AddOnPlacementScore, ManagedCluster
from fleetqueue.api.conditions import Condition
from fleetqueue.api.usage_scores import FRESH, SCORE_RESOURCE
from fleetqueue.controllers.usage_scores import messages
from fleetqueue.controllers.usage_scores.settings import SilenceSettings
from fleetqueue.controllers.usage_scores.usage import as_status, lowest
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)

log = Log("usage-scores")


class ScoreAction(Enum):
    LEAVE = "leave it as it is"
    CREATE = "make the object, to be lowered next"
    LOWER = "write the lowest scores"
    REMOVE = "delete what is left of a cluster that is gone"


@dataclass(frozen=True, slots=True)
class ScoreVerdict:
    act: ScoreAction
    again: datetime | None = None
    """When time alone may change the verdict."""


LEAVE: Final = ScoreVerdict(ScoreAction.LEAVE)


class SilentAgents(Controller):
    """Keep the scores of silent clusters lowest; a key is the name of a cluster."""

    name = "silent-score-agents"

    def __init__(self, hub: Cluster, metrics: Metrics, settings: SilenceSettings | None = None) -> None:
        super().__init__(hub, metrics)
        self.settings = settings or SilenceSettings()
        self._silent: set[str] = set()
        self._count = Gauge(
            "fleetqueue_silent_score_agents",
            "Clusters with the lowest scores because nobody measures them",
            registry=metrics.registry,
        )

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, by_key)
        yield Watch(AddOnPlacementScore, cluster_of_score)

    async def reconcile(self, key: str) -> None:
        score = self.hub.get(AddOnPlacementScore, SCORE_RESOURCE, key)
        verdict = decide(self.hub.get(ManagedCluster, key), score, clock.now(), self.settings)
        if verdict.act is ScoreAction.CREATE:
            await self.hub.ensure(AddOnPlacementScore, AddOnPlacementScore.manifest(SCORE_RESOURCE, key))
        elif verdict.act is ScoreAction.LOWER and score is not None:
            await self._lower(score)
        elif verdict.act is ScoreAction.REMOVE and score is not None:
            await self.hub.ensure_absent(score)
            log.info("scores removed", cluster=key)
        await self._take_note(key, score)
        if verdict.again is not None:
            wait = (verdict.again - clock.now()).total_seconds()
            raise errors.RetryLater(min(max(wait, 0), self.settings.look_interval), "scores may expire")

    async def _lower(self, score: AddOnPlacementScore) -> None:
        now, condition = clock.now(), why_lowest(score)
        status = {
            "scores": as_status(lowest()),
            "validUntil": conditions.timestamp(now + timedelta(seconds=self.settings.validity)),
            "conditions": conditions.dated([condition], score.status.conditions, now=now),
        }
        await self.hub.client.merge(
            score.resource,
            score.name,
            score.namespace,
            {"metadata": score.precondition, "status": status},
            subresource="status",
        )
        if is_lowered(score):
            return
        log.info("scores lowered", cluster=score.namespace, reason=condition.reason)
        if condition.reason == messages.AGENT_SILENT:
            await self.hub.events.warning(score, condition.reason, condition.message)

    async def _take_note(self, cluster: str, score: AddOnPlacementScore | None) -> None:
        """Count who is silent, and say when one is heard."""
        if score is not None and is_lowered(score):
            self._silent.add(cluster)
        elif cluster in self._silent:
            self._silent.discard(cluster)
            if score is not None:
                log.info("agent heard", cluster=cluster)
                await self.hub.events.normal(score, *messages.agent_heard())
        self._count.set(len(self._silent))


def cluster_of_score(score: AddOnPlacementScore) -> Iterable[str]:
    return (score.namespace,) if score.name == SCORE_RESOURCE else ()


def decide(
    cluster: ManagedCluster | None, score: AddOnPlacementScore | None, now: datetime, settings: SilenceSettings
) -> ScoreVerdict:
    """Say what is to be done about the scores of a cluster, and when to ask again."""
    if score is not None and (score.is_deleting or not is_ours(score)):
        return LEAVE
    if cluster is None:
        return when_cluster_is_gone(score, now)
    if cluster.is_deleting or not cluster.spec.hub_accepts_client:
        return LEAVE
    if score is None:
        return ScoreVerdict(ScoreAction.CREATE) if settings.score_unknown_clusters else LEAVE
    due = due_at(score, settings)
    if now < due:
        return ScoreVerdict(ScoreAction.LEAVE, again=due)
    return ScoreVerdict(ScoreAction.LOWER)


def when_cluster_is_gone(score: AddOnPlacementScore | None, now: datetime) -> ScoreVerdict:
    """Remove the scores, unless an agent still renews them: it would only write them again."""
    if score is None:
        return LEAVE
    expiry = score.status.valid_until or LONG_AGO
    if is_lowered(score) or now >= expiry:
        return ScoreVerdict(ScoreAction.REMOVE)
    return ScoreVerdict(ScoreAction.LEAVE, again=expiry)


def due_at(score: AddOnPlacementScore, settings: SilenceSettings) -> datetime:
    """Return when the lowest scores are to be written, or to be renewed."""
    status = score.status
    if status.valid_until is None or not status.scores:
        return LONG_AGO
    left = settings.validity / 2 if is_lowered(score) else settings.margin
    return status.valid_until - timedelta(seconds=left)


def is_lowered(score: AddOnPlacementScore) -> bool:
    """Tell whether the scores are ours rather than an agent's."""
    fresh = conditions.find(score.status.conditions, FRESH)
    return fresh is not None and not fresh.is_true


def why_lowest(score: AddOnPlacementScore) -> Condition:
    """Return the condition for the lowest scores; renewing them does not change what was said."""
    fresh = conditions.find(score.status.conditions, FRESH)
    if fresh is not None and not fresh.is_true:
        return Condition.false(FRESH, fresh.reason, fresh.message)
    if score.status.valid_until is None:
        return Condition.false(FRESH, *messages.never_scored())
    return Condition.false(FRESH, *messages.agent_silent(score.status.valid_until))

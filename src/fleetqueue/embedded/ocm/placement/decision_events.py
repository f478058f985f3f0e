"""Events about decisions, as OCM's placement controller writes them: about the Placement, related to the decision.

They are written beside the work: the next Placement does not wait for what is said about the last one.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import Placement, PlacementDecision
from fleetqueue.api.conditions import micro_timestamp
from fleetqueue.api.events_v1 import NORMAL, WARNING, Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.placement import messages
from fleetqueue.embedded.ocm.placement.decision_writes import WrittenDecisions
from fleetqueue.embedded.ocm.placement.messages import EventText
from fleetqueue.embedded.ocm.placement.ranking import ScheduleResult
from fleetqueue.runtime.events import event_name, reference
from fleetqueue.runtime.logs import Log

REPORTER: Final = "placement-controller"
MOST: Final = 1000
"""Events that wait to be written; further ones are lost, as with OCM."""

log = Log("placement")


@dataclass(frozen=True, slots=True)
class DecisionEvent:
    about: Placement
    related: PlacementDecision
    kind: str
    said: EventText


class DecisionRecorder:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: asyncio.Queue[DecisionEvent] = asyncio.Queue(MOST)

    def tell(self, placement: Placement, written: WrittenDecisions, result: ScheduleResult) -> None:
        """Tell what was written, and the scores as they are since."""
        scores = messages.scores_updated(result.totals) if written.changed else None
        for decision in written.created:
            self._put(placement, decision, NORMAL, messages.decision_created(decision.name, placement))
        for decision in written.changed:
            notice = messages.decision_updated(decision.name, placement, result.warning)
            self._put(placement, decision, WARNING if result.warning else NORMAL, notice)
            if scores is not None:
                self._put(placement, decision, NORMAL, scores)
        for decision in written.deleted:
            self._put(placement, decision, NORMAL, messages.decision_deleted(decision.name, placement))

    async def run(self) -> None:
        """Write events until cancelled; losing one must not stop the others."""
        while True:
            event = await self._waiting.get()
            try:
                await self._client.create(Event.resource, event_manifest(event))
            except (errors.ApiError, errors.Unreachable) as error:
                log.warning("event not written", placement=event.about.key, reason=event.said.reason, error=error)

    def _put(self, about: Placement, related: PlacementDecision, kind: str, notice: EventText) -> None:
        try:
            self._waiting.put_nowait(DecisionEvent(about, related, kind, notice))
        except asyncio.QueueFull:
            log.warning("too many events", placement=about.key, reason=notice.reason)


def event_manifest(event: DecisionEvent) -> Manifest:
    about = event.about
    return {
        **Event.manifest(event_name(about), about.namespace),
        "eventTime": micro_timestamp(clock.now()),
        "type": event.kind,
        "reason": event.said.reason,
        "action": event.said.action,
        "note": event.said.note,
        "regarding": reference(about),
        "related": reference(event.related),
        "reportingController": REPORTER,
        "reportingInstance": REPORTER,
    }

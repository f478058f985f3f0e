"""What our controllers tell of a job, by Events and conditions, against what `explain` answers of it.

The controllers decide, and tell it on objects; `explain` reads that and adds the rest. So each of their messages stands
in its answer, word for word: that of an Event in the sentence of the cause, or else the two would tell two stories of
one job; that of a check in the sentence or the chain; and what a nomination says of all clusters in their rows. Where
`explain` names the cause that a condition has for its reason, it does so in the words of the condition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fleetqueue.admin.explanations import Explanation, of_workload
from fleetqueue.admin.hub_state import EXPLAINING, NOMINATED, HubState, is_placement_check, look
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.names import ACTIVE
from fleetqueue.runtime.events import COMPONENT

ENTRY: Final = "its entry"
"""What tells where it is the entry of one of our checks in the Workload's status."""
RUNS_ON_HUB: Final = "NoMultiKueueCheck"
SAME: Final = {
    "PlacementMissing": "PlacementNotFound",
    "CheckParametersInvalid": "InvalidParameters",
    "RunsOnHub": RUNS_ON_HUB,
}
"""Codes of causes that are a reason of a condition or an Event of ours."""
BY_DISPATCHER: Final = frozenset({"NoClusterToNominate", ENTRY})
NOBODY_CHOSEN: Final = frozenset({"NoClustersAvailable"})
TOLD_BY: Final = {
    "PlacementMissing": {"PlacementNotFound"},
    "CheckParametersInvalid": {"InvalidParameters"},
    "SetNotBound": NOBODY_CHOSEN,
    "SetMissing": NOBODY_CHOSEN,
    "SetEmpty": NOBODY_CHOSEN,
    "NoClusterMatches": NOBODY_CHOSEN,
    "TaintNotTolerated": NOBODY_CHOSEN,
    "NumberIsZero": NOBODY_CHOSEN,
    "PlacementNotDecided": NOBODY_CHOSEN,
    "PinnedToNobody": BY_DISPATCHER,
    "WorkerQueueMissing": BY_DISPATCHER,
    "WorkerQueueStopped": BY_DISPATCHER,
    "WorkerQuotaTooSmall": BY_DISPATCHER,
    "WorkerQuotaShort": {NOMINATED},
    "Nominated": {NOMINATED},
    "JobRefused": {"WaitingForCluster"},
    "WaitsForLostWorker": {"WaitingForCluster", ENTRY},
    "WaitsForFence": {"WaitingForCluster", ENTRY},
    "Evicted": {"WaitingForCluster"},
    "RunsOnHub": {RUNS_ON_HUB},
}
"""By the code of a cause that is alone: what of ours tells of it. Of all other causes others tell, or nobody."""


@dataclass(frozen=True)
class Told:
    """A message of our controllers."""

    by: str
    """The reason of the Event or condition."""
    text: str


@dataclass(frozen=True)
class Moment:
    """A job, what there was around it, and what our controllers told."""

    workload: kueue.Workload
    hub: HubState
    told: Sequence[Told]

    @property
    def tellers(self) -> set[str]:
        return {one.by for one in self.told}

    def unsaid(self) -> list[Told]:
        """Return what `explain` does not say, or not where it belongs."""
        answer = of_workload(self.workload, self.hub, "the job")
        return [one for one in self.told if not stands_in(one, answer)]


async def moment(hub: Client, workload: kueue.Workload) -> Moment:
    around = await look(hub, workload.namespace)
    events = (await hub.list(Event.resource, workload.namespace)).items
    return Moment(workload, around, [*_by_checks(workload, around), *_by_event(workload, events)])


def stands_in(told: Told, answer: Explanation) -> bool:
    if told.by == NOMINATED:
        return told.text in {f"{row['placement']}-{row['cluster']}: {row['dispatcher']}" for row in answer.clusters}
    if told.by in EXPLAINING:
        return told.text in answer.cause.sentence
    if told.by == SAME.get(answer.cause.code):
        return told.text.partition("; ")[0] in answer.cause.sentence
    return any(told.text in says for says in (answer.cause.sentence, *(link.says for link in answer.chain)))


def _by_checks(workload: kueue.Workload, hub: HubState) -> list[Told]:
    """Return what our checks that are not Active say, and the entries of the others on a Workload that waits."""
    states = {one.name: one for one in workload.status.admission_checks}
    queue = hub.queue_of(workload)
    told = []
    for name in states or (queue.checks if queue is not None else ()):
        check = (hub.checks or {}).get(name)
        if check is None or not is_placement_check(check):
            continue
        active = conditions.find(check.status.conditions, ACTIVE)
        state = states.get(name)
        if active is not None and not active.is_true:
            told.append(Told(active.reason, active.message))
        elif state is not None and state.state != kueue.READY and waits(workload):
            told.append(Told(ENTRY, state.message.removeprefix(messages.check_waits(""))))
    return [one for one in told if one.text and not one.text.startswith("Reset to Pending")]


def _by_event(workload: kueue.Workload, events: Sequence[Manifest]) -> list[Told]:
    """Return what the newest Event of ours says of a Workload that waits; an older one is history."""
    ours = [raw for raw in events if raw.get("reportingController") == COMPONENT and about(raw) == workload.uid]
    newest = max(ours, key=lambda raw: str(raw.get("eventTime")), default=None)
    if newest is not None and newest["reason"] == RUNS_ON_HUB:
        return [Told(RUNS_ON_HUB, newest["note"])]
    if newest is None or not waits(workload):
        return []
    if newest["reason"] == NOMINATED:
        return [Told(NOMINATED, line) for line in newest["note"].split("; ") if ": score " in line]
    return [Told(newest["reason"], newest["note"])] if newest["reason"] in EXPLAINING else []


def about(event: Mapping[str, object]) -> str:
    regarding = event.get("regarding")
    return str(regarding.get("uid")) if isinstance(regarding, dict) else ""


def waits(workload: kueue.Workload) -> bool:
    """Tell whether a Workload has quota and is not admitted, or must give up what it has: ours is to say why."""
    return workload.is_leaving or (workload.has_quota and not workload.is_true(kueue.ADMITTED))

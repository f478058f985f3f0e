"""Events as kube-controller-manager and kubelets write them: with core/v1, counted, summed up, and limited.

- The same event about the same object is one event with a count, and the times of the first and the last.
- The tenth different sentence with one reason about one object within ten minutes is summed up with those that follow:
  "(combined from similar events): ...".
- About one object a component writes 25 events of a type at once, and then one in five minutes.

Mirrors: client-go tools/record/events_cache.go
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.runtime.events import EventDraft, Recorder, event_name

EVENTS: Final = Resource("", "v1", "Event", "events")
REMEMBERED: Final = 4096
"""So many of each are known at most; who was not heard of for longest is forgotten."""
DIFFERENT: Final = 10
SIMILAR_SECONDS: Final = 600.0
BURST: Final = 25
REFILL_SECONDS: Final = 300.0

V = TypeVar("V")
Key = tuple[str, ...]


@dataclass(slots=True)
class Counted:
    name: str
    first: str
    count: int = 0


@dataclass(slots=True)
class Similar:
    notes: dict[str, None] = field(default_factory=dict)
    last: float = 0.0


@dataclass(slots=True)
class Allowance:
    left: float = BURST
    at: float = 0.0


class Recent(OrderedDict[Key, V], Generic[V]):
    """A map that forgets what was not asked for longest."""

    def keep(self, key: Key, value: V) -> V:
        self[key] = value
        self.move_to_end(key)
        if len(self) > REMEMBERED:
            self.popitem(last=False)
        return value


class CountingRecorder(Recorder):
    def __init__(self, client: Client, component: str, host: str = "") -> None:
        super().__init__(client, component, host)
        self._counted: Recent[Counted] = Recent()
        self._similar: Recent[Similar] = Recent()
        self._allowances: Recent[Allowance] = Recent()

    async def _say(self, draft: EventDraft) -> None:
        about, now = draft.about, timestamp(clock.now())
        who: Key = (about.uid, about.resource.kind, about.key, draft.kind)
        note, thing = self._summed_up(who, draft)
        known = self._counted.keep(thing, self._counted.get(thing) or Counted(event_name(about), first=now))
        known.count += 1
        if not self._is_allowed(who):
            return
        changes = {"count": known.count, "lastTimestamp": now, "message": note}
        if known.count > 1 and await self._change(known.name, draft.namespace, changes):
            return
        manifest = self._counting(draft, known) | changes
        if note != draft.note:  # as upstream writes what is summed up
            manifest["reportingComponent"] = ""
        await self.client.create(EVENTS, manifest)

    async def _change(self, name: str, namespace: str, changes: Manifest) -> bool:
        """Count an event that was written before; False where it is not there any more."""
        try:
            await self.client.merge(EVENTS, name, namespace, changes)
        except errors.NotFound:
            return False
        return True

    def _summed_up(self, who: Key, draft: EventDraft) -> tuple[str, Key]:
        """Return what is said, and by what it is known: a sentence of its own, or one of many that are alike."""
        now, note, group = clock.monotonic(), draft.note, (*who, draft.reason)
        similar = self._similar.get(group)
        if similar is None or now - similar.last > SIMILAR_SECONDS:
            similar = Similar()
        self._similar.keep(group, similar)
        similar.notes[note] = None
        similar.last = now
        if len(similar.notes) < DIFFERENT:
            return note, (*group, note, draft.part)
        similar.notes.popitem()
        return f"(combined from similar events): {note}", group

    def _is_allowed(self, who: Key) -> bool:
        now = clock.monotonic()
        allowance = self._allowances.keep(who, self._allowances.get(who) or Allowance(at=now))
        allowance.left = min(BURST, allowance.left + (now - allowance.at) / REFILL_SECONDS)
        allowance.at = now
        if allowance.left < 1:
            return False
        allowance.left -= 1
        return True

    def _counting(self, draft: EventDraft, known: Counted) -> Manifest:
        source = {"component": self.component, **({"host": self.instance} if self.instance else {})}
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": known.name, "namespace": draft.namespace},
            "involvedObject": draft.regarding,
            "type": draft.kind,
            "reason": draft.reason,
            "source": source,
            "firstTimestamp": known.first,
            "eventTime": None,
            "reportingComponent": self.component,
            "reportingInstance": self.instance,
        }

"""Events: a sentence for people, on the object that it is about, in the name of the part that says it.

A controller says what it sees, as often as it sees it; how repetition is treated is the recorder's business:
- `Recorder`: the same sentence about the same object is not written again within ten minutes, unless the caller knows
  that it happened again. It needs no right but to create events.
- `SeriesRecorder`: the second time a thing happens, its event becomes a series. So write the scheduler, Kueue and
  Open Cluster Management (client-go's tools/events).
- `CountingRecorder`, in `counted_events`: the same event is counted. So write kube-controller-manager and kubelets.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import micro_timestamp
from fleetqueue.api.events_v1 import NORMAL, WARNING, Event
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.logs import Log

QUIET_SECONDS: Final = 600
SERIES_SECONDS: Final = 360
"""What happens again after so long begins a new event. In a series, the count is written at most as often."""
COMPONENT: Final = "fleetqueue.dev/controller"
INSTANCE: Final = "fleetqueue"
MAX_NOTE: Final = 1024
"""Bytes, as the API server counts them."""

log = Log("events")


@dataclass(frozen=True, slots=True)
class EventDraft:
    """What is said about whom."""

    about: Object
    kind: str
    """NORMAL or WARNING."""
    reason: str
    note: str
    action: str = ""
    """What was tried; core/v1 has no place for it."""
    part: str = ""
    """The path of the field that it is about, such as `spec.containers{main}`."""
    happened_again: bool = False

    @property
    def namespace(self) -> str:
        return self.about.namespace or "default"

    @property
    def regarding(self) -> Manifest:
        """The object that is meant, and which part of it."""
        return reference(self.about, self.part)


def reference(obj: Object, part: str = "") -> Manifest:
    """Name the very object that an event speaks of, or a part of it."""
    parts = {
        "apiVersion": obj.resource.api_version,
        "kind": obj.resource.kind,
        "name": obj.name,
        "namespace": obj.namespace,
        "uid": obj.uid,
        "resourceVersion": obj.metadata.resource_version,
        "fieldPath": part,
    }
    return {name: value for name, value in parts.items() if value}


class Recorder:
    def __init__(self, client: Client, component: str = COMPONENT, instance: str = INSTANCE) -> None:
        self.client = client
        self.component = component
        self.instance = instance
        """Which of several of its kind says it."""
        self._said: dict[tuple[str, ...], float] = {}
        """When each sentence was said, the oldest first."""

    async def normal(
        self,
        about: Object,
        reason: str,
        note: str,
        *,
        action: str = "",
        part: str = "",
        happened_again: bool = False,
    ) -> None:
        await self._try(EventDraft(about, NORMAL, reason, note, action, part, happened_again))

    async def warning(self, about: Object, reason: str, note: str, *, action: str = "", part: str = "") -> None:
        await self._try(EventDraft(about, WARNING, reason, note, action, part))

    async def _try(self, draft: EventDraft) -> None:
        """An event is help for people; losing one must not stop the work that it tells of."""
        try:
            await self._say(draft)
        except (errors.ApiError, errors.Unreachable) as error:
            log.warning("event not written", about=draft.about, reason=draft.reason, error=error)

    async def _say(self, draft: EventDraft) -> None:
        event_key, now = (draft.about.uid, draft.reason, draft.note), clock.monotonic()
        forget_older(self._said, now - QUIET_SECONDS)
        if draft.happened_again or event_key not in self._said:
            self._said.pop(event_key, None)
            self._said[event_key] = now
            await self.client.create(Event.resource, self._manifest(draft))

    def _manifest(self, draft: EventDraft) -> Manifest:
        return {
            **Event.manifest(event_name(draft.about), draft.namespace),
            "eventTime": micro_timestamp(clock.now()),
            "type": draft.kind,
            "reason": draft.reason,
            "action": draft.action or draft.reason,
            "note": _cut(draft.note),
            "regarding": draft.regarding,
            "reportingController": self.component,
            "reportingInstance": self.instance,
        }


@dataclass(slots=True)
class _Series:
    """No more than the event cannot be made of again: thousands are remembered, and few come a second time."""

    name: str
    note: str
    first: str
    """When it happened for the first time."""
    written: float
    count: int = 1


class SeriesRecorder(Recorder):
    """Writes a thing that happens once, and again when it becomes a series.

    As in client-go, things are the same where all but the note is: the note stays that of the first. There the last
    count is written by a timer; here it waits for the next time that the thing happens.
    """

    def __init__(self, client: Client, component: str, instance: str = "") -> None:
        super().__init__(client, component, instance or component)
        self._series: dict[tuple[str, ...], _Series] = {}

    async def _say(self, draft: EventDraft) -> None:
        about, now = draft.about, clock.monotonic()
        thing = (about.uid, about.metadata.resource_version, draft.kind, draft.reason, draft.action, draft.part)
        for ended in forget_older(self._said, now - SERIES_SECONDS):
            del self._series[ended]
        self._said.pop(thing, None)
        self._said[thing] = now
        known = self._series.get(thing)
        if known is not None:
            await self._repeat(known, draft, now)
            return
        manifest = self._manifest(draft)
        self._series[thing] = _Series(manifest["metadata"]["name"], draft.note, manifest["eventTime"], now)
        await self.client.create(Event.resource, manifest)

    async def _repeat(self, known: _Series, draft: EventDraft, now: float) -> None:
        known.count += 1
        if known.count > 2 and now - known.written < SERIES_SECONDS:
            return
        known.written = now
        series = {"series": {"count": known.count, "lastObservedTime": micro_timestamp(clock.now())}}
        try:
            await self.client.merge(Event.resource, known.name, draft.namespace, series)
        except errors.NotFound:
            first = self._manifest(replace(draft, note=known.note))
            first |= Event.manifest(known.name, draft.namespace) | {"eventTime": known.first}
            await self.client.create(Event.resource, first | series)


def forget_older(times: dict[Any, float], than: float) -> list[Any]:
    """Drop from times, the oldest of which stands first, all up to a moment; return whose they were."""
    old = []
    for key, when in times.items():
        if when > than:
            break
        old.append(key)
    for key in old:
        del times[key]
    return old


def event_name(about: Object) -> str:
    return f"{about.name[:200].rstrip('-.')}.{clock.suffix(10)}"


def _cut(note: str) -> str:
    whole = note.encode()
    return note if len(whole) <= MAX_NOTE else whole[: MAX_NOTE - 4].decode(errors="ignore") + " ..."

"""Events: a sentence for people, on the object that it is about.

The same sentence about the same object is not said again within ten minutes: a controller may simply say what it sees.
"""

from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.events_v1 import NORMAL, WARNING, Event
from fleetqueue.api.meta import Object
from fleetqueue.client import Client
from fleetqueue.runtime.logs import Log

QUIET_SECONDS: Final = 600
REPORTER: Final = "fleetqueue"
MAX_NOTE: Final = 1024
"""Bytes, as the API server counts them."""

log = Log("events")


class Recorder:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._said: dict[tuple[str, str, str], float] = {}

    async def normal(self, about: Object, reason: str, note: str) -> None:
        await self._say(about, NORMAL, reason, note)

    async def warning(self, about: Object, reason: str, note: str) -> None:
        await self._say(about, WARNING, reason, note)

    async def _say(self, about: Object, kind: str, reason: str, note: str) -> None:
        said = (about.uid, reason, note)
        now = clock.monotonic()
        if now - self._said.get(said, -QUIET_SECONDS) < QUIET_SECONDS:
            return
        self._said = {key: when for key, when in self._said.items() if now - when < QUIET_SECONDS}
        self._said[said] = now
        try:
            await self._client.create(Event.resource, _manifest(about, kind, reason, note))
        except (errors.ApiError, errors.Unreachable) as error:
            # An event is help for people; losing one must not stop the work that it tells of.
            log.warning("event not written", about=about, reason=reason, error=error)


def _manifest(about: Object, kind: str, reason: str, note: str) -> dict[str, object]:
    namespace = about.namespace or "default"
    manifest = Event.manifest(f"{about.name[:200].rstrip('-.')}.{clock.suffix(10)}", namespace)
    resource = about.resource
    regarding = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": about.name,
        "uid": about.uid,
        "resourceVersion": about.metadata.resource_version,
    }
    if about.namespace:
        regarding["namespace"] = about.namespace
    return {
        **manifest,
        "eventTime": clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": kind,
        "reason": reason,
        "action": reason,
        "note": _cut(note),
        "regarding": regarding,
        "reportingController": f"{REPORTER}.dev/controller",
        "reportingInstance": REPORTER,
    }


def _cut(note: str) -> str:
    whole = note.encode()
    return note if len(whole) <= MAX_NOTE else whole[: MAX_NOTE - 4].decode(errors="ignore") + " ..."

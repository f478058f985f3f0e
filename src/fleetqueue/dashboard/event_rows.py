"""The newest Events, and the last words of our dispatcher about each Workload. No I/O."""

import heapq
from typing import Final

from fleetqueue.admin.hub_state import EXPLAINING, NOMINATED
from fleetqueue.api.meta import key_of
from fleetqueue.dashboard.kinds import ShownEvent
from fleetqueue.dashboard.rows import Row, seconds

MOST_EVENTS: Final = 200
"""How many are shown."""


class RecentEvents:
    """The newest of all Events that were seen; those that the hub forgets go."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._spoken: dict[str, ShownEvent] = {}
        """Of each Workload, by its uid, the last Event of the dispatcher."""
        self.notes: dict[str, str] = {}
        """What explains why a Workload waits, by its uid."""
        self.nominations: dict[str, str] = {}
        """What was said of all clusters when a Workload was nominated, by its uid."""

    def put(self, event: ShownEvent) -> None:
        self._rows[event.key] = event_row(event)
        if len(self._rows) >= 2 * MOST_EVENTS:
            self._rows = self.rows()
        if event.is_of_dispatcher:
            self._hear(event)

    def remove(self, event: ShownEvent) -> None:
        self._rows.pop(event.key, None)
        uid = event.regarding.uid
        last = self._spoken.get(uid)
        if last is not None and last.key == event.key:
            del self._spoken[uid]
            self._forget(uid)

    def rows(self) -> dict[str, Row]:
        """Return the newest, by their keys."""
        return dict(heapq.nlargest(MOST_EVENTS, self._rows.items(), key=lambda item: (item[1]["time"] or 0, item[0])))

    def _hear(self, event: ShownEvent) -> None:
        uid = event.regarding.uid
        last = self._spoken.get(uid)
        if last is not None and order(last) > order(event):
            return
        self._spoken[uid] = event
        self._forget(uid)
        if event.reason in EXPLAINING:
            self.notes[uid] = event.note
        elif event.reason == NOMINATED:
            self.nominations[uid] = event.note

    def _forget(self, uid: str) -> None:
        self.notes.pop(uid, None)
        self.nominations.pop(uid, None)


def event_row(event: ShownEvent) -> Row:
    about = event.regarding
    return {
        "time": seconds(event.time),
        "type": event.type,
        "reason": event.reason,
        "note": event.note,
        "kind": about.kind,
        "about": key_of(about.namespace, about.name),
        "by": event.reporting_controller,
        "count": event.count,
    }


def order(event: ShownEvent) -> float:
    return seconds(event.event_time) or 0.0

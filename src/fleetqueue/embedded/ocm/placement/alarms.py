"""Moments at which time alone changes something: for each name the next one."""

from datetime import datetime
from heapq import heappop, heappush


class Alarms:
    def __init__(self) -> None:
        self._when: dict[str, datetime] = {}
        self._heap: list[tuple[datetime, str]] = []

    def set(self, name: str, when: datetime | None) -> None:
        """Set a name's next moment; None takes it away."""
        if when == self._when.get(name):
            return
        if when is None:
            del self._when[name]
            return
        self._when[name] = when
        heappush(self._heap, (when, name))

    def due(self, now: datetime) -> list[str]:
        """Take and return the names whose moment has come."""
        names = []
        while self._heap and self._heap[0][0] <= now:
            when, name = heappop(self._heap)
            if self._when.get(name) == when:
                del self._when[name]
                names.append(name)
        return names

    def next(self) -> datetime | None:
        """Return the next moment."""
        while self._heap and self._when.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)  # it was moved or taken away since
        return self._heap[0][0] if self._heap else None

"""The latest changes of one kind, or of the whole cluster, and the watches that read them.

The changes are each watch's queue: a watch has a place in them and nothing of its own, so a slow one costs a writer
nothing. Places count from the first change ever, and stay right when old changes are forgotten.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Self

from fleetqueue import clock
from fleetqueue.embedded.apiserver.storage import refusals
from fleetqueue.embedded.apiserver.storage.interface import READ_AT_ONCE, StorageChange

_revision = attrgetter("entry.revision")


class History:
    """Changes in the order of their revisions."""

    def __init__(self) -> None:
        self.changes: list[StorageChange] = []
        self.end = 0
        """The place of the next change: how many there have been."""
        self.forgotten = 0
        """The place of the first change that is still known."""
        self.compacted = 0
        self._idle: dict[HistoryWatch, None] = {}

    def append(self, change: StorageChange) -> None:
        self.changes.append(change)
        self.end += 1
        if self._idle:
            for watch in [idle for idle in self._idle if change.entry.key.startswith(idle.prefix)]:
                del self._idle[watch]
                watch.wake()

    def place_after(self, revision: int) -> int:
        """Return the place of the first change that is newer."""
        return self.forgotten + bisect_right(self.changes, revision, key=_revision)

    def since(self, revision: int) -> Sequence[StorageChange]:
        """Return the changes that are newer."""
        return self.changes[self.place_after(revision) - self.forgotten :]

    def forget(self, revision: int) -> Sequence[StorageChange]:
        """Drop the changes up to a revision, and return them."""
        self.compacted = revision
        count = self.place_after(revision) - self.forgotten
        dropped = self.changes[:count]
        del self.changes[:count]
        self.forgotten += count
        return dropped

    def rest(self, watch: "HistoryWatch") -> None:
        """Wake a watch at the next change that it wants."""
        self._idle[watch] = None

    def leave(self, watch: "HistoryWatch") -> None:
        self._idle.pop(watch, None)


class HistoryWatch:
    """One reader's place in a history."""

    def __init__(self, history: History, prefix: str, since: int, newest: Callable[[], int]) -> None:
        self.prefix = prefix
        self._history = history
        self._newest = newest
        self._since = since
        self._seen = since
        self._place = history.place_after(since)
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        """Rings when the time to wait may be over. One timer is for many waits: most end long before it."""

    @property
    def revision(self) -> int:
        # At the end nothing is left to hand out, so all that happened elsewhere counts too.
        return max(self._since, self._newest() if self._place == self._history.end else self._seen)

    async def read(self, *, limit: int = READ_AT_ONCE, until: float | None = None) -> Sequence[StorageChange]:
        while not (changes := self._take(limit)):
            if self._place < self._history.end:
                await asyncio.sleep(0)  # a long stretch without anything for this watch
            elif until is not None and clock.monotonic() >= until:
                return changes
            else:
                await self._wait(until)
        return changes

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StorageChange:
        return (await self.read(limit=1))[0]

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _take(self, limit: int) -> Sequence[StorageChange]:
        """Go on over some changes, and return those that this watch wants."""
        changes, start = self._history.changes, self._place - self._history.forgotten
        if start < 0:
            raise refusals.watch_too_old(self._seen, self._history.compacted)
        wanted_changes: list[StorageChange] = []
        for index in range(start, min(start + READ_AT_ONCE, len(changes))):
            if len(wanted_changes) == limit:
                break
            change = changes[index]
            self._place += 1
            self._seen = change.entry.revision
            if self._seen > self._since and change.entry.key.startswith(self.prefix):
                wanted_changes.append(change)
        return wanted_changes

    async def _wait(self, until: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        if until is not None and (self._timer is None or self._timer.when() > until):
            self._stop_timer()
            self._timer = loop.call_at(until, self._ring)
        self._history.rest(self)
        try:
            await self._waiter
        finally:
            self._history.leave(self)
            if self._waiter.cancelled():  # with its reader
                self._stop_timer()

    def _ring(self) -> None:
        self._timer = None
        self.wake()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

"""The storage of one cluster: the committed state, the pending changes before it, and the log between the two.

A mutation compares with the pending head, gets its revision and becomes pending, all in one step without a pause. The
log then says that it is committed, or that everything pending is lost. See docs/en/design/storage.md.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Self

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.packing import PackingTimer
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.storage import refusals
from fleetqueue.embedded.apiserver.storage.history import HistoryWatch
from fleetqueue.embedded.apiserver.storage.interface import StorageChange, StorageEntry, StoragePage
from fleetqueue.embedded.apiserver.storage.log import StorageLog
from fleetqueue.embedded.apiserver.storage.state import ClusterState


class PendingChanges:
    """Changes that have a revision but are not in the log yet, and those who wait for them."""

    def __init__(self) -> None:
        self._changes: deque[StorageChange] = deque()
        self._newest: dict[str, StorageChange] = {}
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def last(self) -> int:
        """The revision of the last of them; 0 if there is none."""
        return self._changes[-1].revision if self._changes else 0

    def newest(self, key: str) -> StorageChange | None:
        """Return the last change of an object that is not committed."""
        return self._newest.get(key)

    def add(self, change: StorageChange) -> None:
        self._changes.append(change)
        self._newest[change.entry.key] = change

    def take(self, revision: int) -> Sequence[StorageChange]:
        """Remove and return what is committed now."""
        taken = []
        while self._changes and self._changes[0].entry.revision <= revision:
            change = self._changes.popleft()
            taken.append(change)
            if self._newest[change.entry.key] is change:
                del self._newest[change.entry.key]
        return taken

    def drop(self) -> None:
        """Forget all, since the log could not take it."""
        self._changes.clear()
        self._newest.clear()

    async def wait(self, revision: int) -> None:
        """Wait until a revision is committed, or raise why it is not.

        Each caller waits for a future of its own: cancelling it does nothing to the commit.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((revision, waiter))
        await waiter

    def wake(self, revision: int) -> None:
        """Tell those who wait for a revision up to this one that it is committed."""
        if self._waiters:
            for waiter in self._ready(revision):
                waiter.set_result(None)

    def fail(self, revision: int, why: BaseException) -> None:
        """Tell those who wait for a revision up to this one that it will never be."""
        for waiter in self._ready(revision):
            error = refusals.not_stored(why)
            error.__cause__ = why
            waiter.set_exception(error)

    def _ready(self, revision: int) -> Sequence[asyncio.Future[None]]:
        waiting = [(wanted, waiter) for wanted, waiter in self._waiters if not waiter.done()]
        self._waiters = [(wanted, waiter) for wanted, waiter in waiting if wanted > revision]
        return [waiter for wanted, waiter in waiting if wanted <= revision]


@dataclass(frozen=True, slots=True)
class Retention:
    """How long changes are remembered for watches and for the later pages of lists."""

    seconds: float = 600.0
    """How old a change may get. Reflectors ask again within 10 minutes; with less, those that were cut off relist."""
    events: int = 100_000
    """How many changes are remembered at most: it bounds the memory of a busy cluster."""


DEFAULT: Final = Retention()


class Ages:
    """Knows roughly when each revision came to be, from one mark in each tenth of the time to remember.

    It errs on the side of remembering: a change counts as being as young as the first mark behind it.
    """

    def __init__(self, retention: Retention) -> None:
        self._retention = retention
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, now: float, revision: int) -> bool:
        """Note the newest revision; False if the last mark is too young for another."""
        if self._marks and now < self._marks[-1][0] + self._retention.seconds / 10:
            return False
        self._marks.append((now, revision))
        return True

    def outdated(self, now: float) -> int:
        """Return the revision up to which all changes are old enough to be forgotten; 0 if none are."""
        revision = 0
        while self._marks and self._marks[0][0] <= now - self._retention.seconds:
            revision = self._marks.popleft()[1]
        return revision


_logger = logging.getLogger(__name__)


class ClusterStorage:
    """Open one with `await ClusterStorage.open(log)`."""

    def __init__(self, log: StorageLog, retention: Retention) -> None:
        self._log = log
        self._retention = retention
        self._ages = Ages(retention)
        self._state = ClusterState()
        self._packing = PackingTimer(self._state.unpacked.pack)
        self._pending = PendingChanges()
        self._assigned = 0
        self._compactions: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @classmethod
    async def open(cls, log: StorageLog, *, retention: Retention = DEFAULT) -> Self:
        """Restore what the log has kept."""
        storage = cls(log, retention)
        kept = await log.open(storage)
        needless = storage._state.restore(kept.rows, kept.compacted)
        storage._assigned = storage.revision
        storage._ages.mark(clock.monotonic(), storage.revision)
        if needless:
            await storage._compact_log(kept.compacted, needless)
        return storage

    @classmethod
    async def holding(cls, log: StorageLog, entries: Iterable[StorageEntry]) -> Self:
        """Begin a new log with objects of another cluster, in the order of their revisions; nothing is copied."""
        storage = await cls.open(log)
        for entry in entries:
            storage._assigned = entry.revision
            await storage._write(StorageChange("ADDED", entry, None))
        return storage

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def compacted(self) -> int:
        return self._state.compacted

    def get(self, key: str) -> StorageEntry:
        entry = self._state.find(key)
        if entry is None:
            raise refusals.not_found(key)
        return entry

    def head(self, key: str) -> StorageEntry | None:
        change = self._pending.newest(key)
        if change is None:
            return self._state.find(key)
        return None if change.type == "DELETED" else change.entry

    def list(self, prefix: str, *, after: str = "", limit: int = 0, at: int | None = None) -> StoragePage:
        return self._state.page(prefix, after, limit, at)

    def counter(self, *prefixes: str) -> Callable[[], int]:
        histories = [self._state.history_of(prefix) for prefix in prefixes]
        return lambda: sum([history.end for history in histories])

    def watch(self, prefix: str, *, since: int) -> HistoryWatch:
        if since < self.compacted:
            raise refusals.watch_too_old(since, self.compacted)
        return HistoryWatch(self._state.history_of(prefix), prefix, since, lambda: self.revision)

    async def create(self, key: str, manifest: Manifest) -> StorageEntry:
        while self.head(key) is not None:
            await self._refuse(key, refusals.already_exists(key))
        return await self._write(StorageChange("ADDED", self._next(key, manifest), None))

    async def update(self, key: str, manifest: Manifest, *, expected: int) -> StorageEntry:
        live = await self._expect(key, expected)
        return await self._write(StorageChange("MODIFIED", self._next(live.key, manifest), live))

    async def delete(self, key: str, *, expected: int) -> StorageEntry:
        live = await self._expect(key, expected)
        return await self._write(StorageChange("DELETED", self._next(live.key, live.object), live))

    async def reached(self, revision: int, *, timeout: float = 3.0) -> None:
        if revision <= self.revision:
            return
        try:
            async with asyncio.timeout(timeout):
                await self._pending.wait(revision)
        except TimeoutError:
            raise refusals.not_reached(revision, self.revision) from None

    async def compact(self, revision: int) -> None:
        unseen = self._state.forget(revision)
        await self._log.compact(self.compacted, unseen)

    async def close(self) -> None:
        self._is_closed = True
        self._packing.stop()
        if last := self._pending.last:
            with suppress(errors.ServerError):  # its writer gets the error
                await self._pending.wait(last)
        if self._compactions:
            await asyncio.wait(self._compactions)
        await self._log.close()

    def committed(self, revision: int) -> None:
        """Show what is safe now to readers, watches and those who wait."""
        for change in self._pending.take(revision):
            self._state.apply(change)
        self._pending.wake(revision)
        self._forget_old()
        if self._state.unpacked.are_due:
            self._packing.start()

    def failed(self, error: BaseException) -> None:
        """Take back what was pending. Its revisions are not used again: another change may be based on one of them."""
        _logger.error("changes were not stored: %s", error)
        self._pending.drop()
        self._pending.fail(self._assigned, error)

    async def _expect(self, key: str, revision: int) -> StorageEntry:
        """Return the version that a writer built on, if it still is the newest."""
        while True:
            live = self.head(key)
            if live is not None and live.revision == revision:
                return live
            await self._refuse(key, refusals.not_found(key) if live is None else refusals.stale(key))

    async def _refuse(self, key: str, error: errors.ApiError) -> None:
        """Raise an error once it rests on committed facts; return if they failed, to be compared again."""
        change = self._pending.newest(key)
        if change is not None:
            try:
                await self._pending.wait(change.revision)
            except errors.ServerError:
                return
        raise error

    def _next(self, key: str, manifest: Manifest) -> StorageEntry:
        if self._is_closed:
            raise refusals.closed()
        self._assigned += 1
        return StorageEntry.of(key, manifest, self._assigned)

    async def _write(self, change: StorageChange) -> StorageEntry:
        if self._log.keeps and change.type != "DELETED":
            _ = change.entry.json  # what is no JSON is refused before it has any effect
        self._pending.add(change)
        self._log.append(change)
        if self._state.revision < change.revision:
            await self._pending.wait(change.revision)
        return change.entry

    def _forget_old(self) -> None:
        """Compact when it is time; an idle cluster keeps what it has."""
        now = clock.monotonic()
        limit = self._retention.events
        until = 0
        if self._ages.mark(now, self.revision):
            until = self._ages.outdated(now)
        changes = self._state.history.changes
        if len(changes) > limit + limit // 10:  # some at a time, since each compaction costs time
            until = max(until, changes[-limit - 1].revision)
        if until <= self.compacted:
            return
        unseen = self._state.forget(until)
        if self._log.keeps:
            task = asyncio.create_task(self._compact_log(self.compacted, unseen))
            self._compactions.add(task)
            task.add_done_callback(self._compactions.discard)

    async def _compact_log(self, revision: int, unseen: Sequence[int]) -> None:
        try:
            await self._log.compact(revision, unseen)
        except Exception as error:
            _logger.warning("the log was not compacted and stays long until it is: %s", error)

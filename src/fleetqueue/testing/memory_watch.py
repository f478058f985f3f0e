"""One open watch of the API in memory."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.errors import Unreachable
from fleetqueue.api.scheme import Manifest
from fleetqueue.testing.memory_paths import Matches, Target, selects
from fleetqueue.testing.memory_store import Change, copied

BOOKMARK_SECONDS: Final = 60.0
DEFAULT_SECONDS: Final = 1800.0
INITIAL_EVENTS_END: Final = {"k8s.io/initial-events-end": "true"}


class MemoryStream:
    """What a door's `stream` gives: lines that arrive, or an error that came instead."""

    def __init__(self, silence: float, status: int = 200, error: Manifest | None = None) -> None:
        self.status = status
        self._silence = silence
        self._error = error
        self._arrived: asyncio.Queue[Manifest | Exception | None] = asyncio.Queue()
        self._is_dead = False

    async def body(self) -> Any:
        return self._error

    async def lines(self) -> AsyncIterator[Manifest]:
        while True:
            try:
                async with asyncio.timeout(self._silence):
                    line = await self._arrived.get()
            except TimeoutError:
                raise Unreachable(f"no byte for {self._silence:g} s") from None
            if line is None:
                return
            if isinstance(line, Exception):
                raise line
            yield line

    def send(self, kind: str, obj: Manifest) -> None:
        self._put({"type": kind, "object": copied(obj)})

    def end(self, error: Exception | None = None) -> None:
        """End cleanly, or as a broken connection does."""
        self._put(error)

    def die(self) -> None:
        """Fall silent for ever, as a connection does whose other end has gone without a word."""
        self._is_dead = True

    def _put(self, line: Manifest | Exception | None) -> None:
        if not self._is_dead:
            self._arrived.put_nowait(line)


class Watcher:
    """Turns changes into the events that one watch asked for."""

    def __init__(self, target: Target, query: Mapping[str, str], stream: MemoryStream) -> None:
        self.stream = stream
        self.matches: Matches = selects(target, query)
        self._collection = target.collection
        self._wants_bookmarks = query.get("allowWatchBookmarks") == "true"
        self._end = clock.monotonic() + float(query.get("timeoutSeconds") or DEFAULT_SECONDS)

    @property
    def seconds_left(self) -> float:
        return self._end - clock.monotonic()

    def tell(self, change: Change) -> None:
        """An object that begins or ceases to match is, for this watch, added or deleted."""
        if change.collection != self._collection:
            return
        was = change.before is not None and self.matches(change.before)
        now = change.after is not None and self.matches(change.after)
        if was or now:
            self.stream.send("MODIFIED" if was and now else "ADDED" if now else "DELETED", change.last)

    def bookmark(self, revision: int, annotations: Mapping[str, str] | None = None) -> None:
        if self._wants_bookmarks:
            marks = {"annotations": annotations} if annotations else {}
            self.stream.send("BOOKMARK", {"metadata": {"resourceVersion": str(revision), **marks}})

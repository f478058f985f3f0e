"""A queue of keys.

A key that is added many times while it waits is worked on once. A key that is added while it is being worked on is
worked on again afterwards, never twice at once. Failures come back later and later; `forget` starts a key's patience
anew. Where a server asked to wait, a key comes back no earlier, whoever asks for it meanwhile.
"""

import asyncio
from collections import deque
from typing import Final

from fleetqueue import clock

FIRST_RETRY: Final = 0.05
"""Seconds. Most failures are a stale cache, which is right again within milliseconds."""
LAST_RETRY: Final = 60.0
"""Seconds. An operator who repaired something should not wait longer than this."""


class WorkQueue:
    def __init__(self) -> None:
        self._waiting: dict[str, None] = {}
        self._working: set[str] = set()
        self._again: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        """When the loop's time is the earliest at which a server wants to hear of a key again."""
        self._idle: deque[asyncio.Future[None]] = deque()
        """Who waits for a key. A new key wakes one of them: where all were woken, all but one would wake in vain."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing is worked on; timers may be running."""
        return not (self._waiting or self._working)

    def add(self, key: str) -> None:
        """Ask for a key to be worked on, soon."""
        if key in self._working:
            self._again.add(key)
            return
        if key in self._not_before:
            self.add_after(key, 0)
            return
        if key not in self._waiting:
            self._waiting[key] = None
            self._wake_one()

    def add_after(self, key: str, seconds: float) -> None:
        """Ask for a key to be worked on after a time; of several such wishes for one key the earliest counts."""
        loop = asyncio.get_running_loop()
        seconds = max(seconds, self._not_before.get(key, 0.0) - loop.time())
        pending = self._timers.get(key)
        if pending is not None:
            if pending.when() <= loop.time() + seconds:
                return
            pending.cancel()
        self._timers[key] = loop.call_later(max(seconds, 0), self._expire, key)

    def retry(self, key: str, at_least: float = 0.0) -> float:
        """Ask for a failed key again, later with every failure, and no earlier than a server asked for; return after
        how many seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        doublings = min(failures, 30)  # far beyond the limit, and far below where a float ends
        delay = max(clock.jitter(min(FIRST_RETRY * 2**doublings, LAST_RETRY)), at_least)
        if at_least:
            self._not_before[key] = asyncio.get_running_loop().time() + at_least
            if (earlier := self._timers.pop(key, None)) is not None:
                earlier.cancel()
        self.add_after(key, delay)
        return delay

    def forget(self, key: str) -> None:
        self._failures.pop(key, None)

    async def take(self) -> str:
        """Wait for a key; whoever takes one must call `done` with it."""
        while not self._waiting:
            await self._until_woken()
        key = next(iter(self._waiting))
        del self._waiting[key]
        self._working.add(key)
        return key

    def done(self, key: str) -> None:
        self._working.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def close(self) -> None:
        """Stop all timers; the queue is not used afterwards."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    async def _until_woken(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._idle.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._wake_one()  # the key that we were woken for is somebody else's now
            raise

    def _wake_one(self) -> None:
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _expire(self, key: str) -> None:
        self._timers.pop(key, None)
        self._not_before.pop(key, None)
        self.add(key)

"""The one source of time and chance.

Nothing else reads a clock or draws a random number, so that a test, or the simulated world, can replace both: `use`
puts another clock in place for the current context and everything that it starts.
"""

import asyncio
import random
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the wall-clock time, in UTC."""
        ...

    def since_boot(self) -> float:
        """Return seconds that never go back, and that go on while the machine is suspended."""
        ...

    def boot(self) -> str:
        """Name what `since_boot` counts from; empty where that is not known."""
        ...

    @property
    def chance(self) -> random.Random:
        """Give uids, name suffixes and jitter."""
        ...


class SystemClock:
    def __init__(self) -> None:
        self.chance = random.Random()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def since_boot(self) -> float:
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    def boot(self) -> str:
        try:
            return BOOT_ID.read_text().strip()
        except OSError:
            return ""


_current: ContextVar[Clock] = ContextVar("clock", default=SystemClock())  # noqa: B039 - without state of its own


@contextmanager
def use(clock: Clock) -> Iterator[Clock]:
    """Let the body, and every task that it starts, live by this clock."""
    token = _current.set(clock)
    try:
        yield clock
    finally:
        _current.reset(token)


def now() -> datetime:
    """Return the wall-clock time, in UTC: for what is written into objects."""
    return _current.get().now()


def monotonic() -> float:
    """Return seconds that never go back, as the event loop counts them: for timeouts and ages."""
    return asyncio.get_running_loop().time()


def since_boot() -> float:
    """Return seconds that never go back, and that go on while the machine is suspended: for what others count too."""
    return _current.get().since_boot()


def boot() -> str:
    """Name what `since_boot` counts from, so that a later process knows whether it can compare; empty if unknown."""
    return _current.get().boot()


def jitter(seconds: float, spread: float = 0.2) -> float:
    """Move a delay by up to `spread` of itself, so that many clients do not act at once."""
    return seconds * (1 + spread * (2 * _current.get().chance.random() - 1))


def between(low: float, high: float) -> float:
    """Draw a number between two others."""
    return _current.get().chance.uniform(low, high)


def suffix(length: int = 5) -> str:
    """Draw a name suffix from the letters that Kubernetes uses (no vowels, nothing that looks like another)."""
    return "".join(_current.get().chance.choices("bcdfghjklmnpqrstvwxz2456789", k=length))


def uid() -> str:
    """Draw the identity of an object or a token: a UUID of version 4."""
    return str(uuid.UUID(int=_current.get().chance.getrandbits(128), version=4))

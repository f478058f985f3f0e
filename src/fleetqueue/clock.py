"""The one source of time and chance.

Nothing else reads a clock or draws a random number, so that a test, or the simulated world, can replace both: `use`
puts another clock in place for the current context and everything that it starts.
"""

import asyncio
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the wall-clock time, in UTC."""
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

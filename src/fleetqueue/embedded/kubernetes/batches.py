"""Do one thing to many objects at once; or, where all may fail for one reason, in growing batches.

A slow start asks little in vain: 1, 2, 4, ... at once, and nothing after a batch in which one has failed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from fleetqueue.api import errors

T = TypeVar("T")
Act = Callable[[T], Awaitable[None]]


async def at_once(things: Iterable[T], act: Act[T]) -> None:
    """Wait for all, also where one fails; then raise the first failure."""
    for failure in await _failures(things, act):
        raise failure


async def slow_start(things: Sequence[T], act: Act[T]) -> tuple[int, errors.ApiError | None]:
    """Return for how many it was done, and why not for all; what is no answer of the API is raised."""
    done, size, begun = 0, 1, 0
    while begun < len(things):
        batch = things[begun : begun + size]
        failures = await _failures(batch, act)
        done, begun, size = done + len(batch) - len(failures), begun + len(batch), size * 2
        for failure in failures:
            if isinstance(failure, errors.ApiError):
                return done, failure
            raise failure
    return done, None


async def _failures(things: Iterable[T], act: Act[T]) -> list[BaseException]:
    results = await asyncio.gather(*map(act, things), return_exceptions=True)
    return [result for result in results if result is not None]

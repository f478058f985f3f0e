"""Look at a hub again and again, and tell what is not as it was."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

LOOK_SECONDS: Final = 3.0
"""Between two looks."""
Facts = TypeVar("Facts")


async def looked_at(look: Callable[[], Awaitable[Facts]], *, again: bool) -> AsyncIterator[Facts]:
    """Yield what is seen, and with `again`, without an end, what is seen whenever it differs from that before."""
    seen = await look()
    yield seen
    while again:
        await asyncio.sleep(LOOK_SECONDS)
        before, seen = seen, await look()
        if seen != before:
            yield seen

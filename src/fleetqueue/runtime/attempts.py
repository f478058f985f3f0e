"""Try work that is tried again and again, so that its failure never hides that we were told to stop.

Before Python 3.13, a task group that fails at the moment at which its task is cancelled raises its failure only. A loop
that catches that and goes on is not told a second time, and who stopped it waits for ever. So each try has a task of
its own. What it ends by is in that task, even a cancellation of its own that got loose; what `attempt` raises is meant
for us.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def attempt(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Run something to its end, and return its task, which has the result; when cancelled, end it first."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task})
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # nobody may ask for it any more
    return task

"""Run several things at once; the first failure cancels the others and is raised as itself."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def together(*steps: Coroutine[Any, Any, None]) -> None:
    """Run all steps to their end; a task group alone would hand back a group of errors that nobody wants to read."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for step in steps:
                tasks.create_task(step)
    except BaseExceptionGroup as group:
        raise first(group) from None


def first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error that is not a group itself."""
    error = group.exceptions[0]
    return first(error) if isinstance(error, BaseExceptionGroup) else error

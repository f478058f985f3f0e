"""The way into one cluster's API: over HTTP (`transport`), or in process."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from fleetqueue.api.requests import Request, Response


class Door(Protocol):
    """Errors: Unreachable where there was no answer; any answer, also an error, is a Response."""

    async def request(self, request: Request, *, timeout: float) -> Response: ...

    def stream(self, request: Request, *, silence: float) -> AbstractAsyncContextManager["Stream"]:
        """Open a watch, or a log; it ends with Unreachable after so many seconds without a byte."""
        ...

    async def close(self) -> None: ...


class Stream(Protocol):
    status: int

    async def body(self) -> Any:
        """Read the whole answer: for the one that is an error instead of a stream."""
        ...

    def lines(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the events of a watch."""
        ...

    def text(self) -> AsyncIterator[str]:
        """Yield the lines of a log."""
        ...

"""Faults on the way to a cluster: cut, silent, slow, and answers that a healthy server would not give.

They stand in the door, not in the server: what a request did before its answer was lost has really happened.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api.requests import Request, Response
from fleetqueue.apiserver.http.exchange import status_of
from fleetqueue.client.door import Door, Stream


@dataclass(slots=True)
class Failure:
    """An answer that some requests get instead of their own."""

    pattern: str
    """`PATCH */workloads/*/status`, say: the method and the path, with `*` for anything."""
    error: errors.ApiError | errors.Unreachable
    times: float = float("inf")
    happens: bool = False
    """Whether the request is carried out and only its answer is lost."""


@dataclass(slots=True)
class Way:
    """How the way to a cluster is now; all doors to it share one."""

    slow: float = 0.0
    """Seconds that every request takes longer."""
    failures: list[Failure] = field(default_factory=list)
    _cut: str = ""
    _streams: set[asyncio.Future[None]] = field(default_factory=set)

    def cut(self, *, silently: bool = False) -> None:
        """Let nothing through: refused, or swallowed without a word. What is open breaks likewise."""
        self._cut = "silent" if silently else "refused"
        if not silently:
            self.break_streams()

    def heal(self) -> None:
        """End every fault; streams that went silent stay so, as a half-open connection does."""
        self._cut, self.slow = "", 0.0
        self.failures.clear()

    def break_streams(self) -> None:
        for stream in self._streams:
            if not stream.done():
                stream.set_result(None)

    @property
    def is_silent(self) -> bool:
        return self._cut == "silent"

    async def pass_through(self, request: Request, timeout: float) -> Failure | None:
        """Let a request go its way as far as it gets; return the failure that its answer becomes, if any."""
        if self._cut == "refused":
            raise errors.Unreachable(f"{request}: connection refused")
        if self.is_silent or self.slow >= timeout:
            await asyncio.sleep(timeout)
            raise errors.Unreachable(f"{request}: no answer within {timeout:g} s")
        if self.slow:
            await asyncio.sleep(self.slow)
        return self._failure(request)

    def _failure(self, request: Request) -> Failure | None:
        for failure in self.failures:
            if failure.times > 0 and fnmatchcase(str(request), failure.pattern):
                failure.times -= 1
                return failure
        return None

    @asynccontextmanager
    async def open_stream(self) -> AsyncIterator[asyncio.Future[None]]:
        broken = asyncio.get_running_loop().create_future()
        self._streams.add(broken)
        try:
            yield broken
        finally:
            self._streams.discard(broken)


class FaultyDoor:
    """A door at the end of a way that may have faults."""

    def __init__(self, door: Door, way: Way) -> None:
        self.door = door
        self.way = way

    async def request(self, request: Request, *, timeout: float) -> Response:
        failure = await self.way.pass_through(request, timeout)
        if failure is None:
            return await self.door.request(request, timeout=timeout)
        if failure.happens:
            await self.door.request(request, timeout=timeout)
        return _failed(failure)

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator["FaultyStream"]:
        failure = await self.way.pass_through(request, silence)
        if failure is not None:
            answer = _failed(failure)
            yield FaultyStream(answer.status, answer.body)
            return
        inner: AbstractAsyncContextManager[Stream] = self.door.stream(request, silence=silence)
        async with self.way.open_stream() as broken, inner as stream:
            yield FaultyStream(stream.status, stream=stream, broken=broken, way=self.way, silence=silence)

    async def close(self) -> None:
        await self.door.close()


class FaultyStream:
    def __init__(
        self,
        status: int,
        body: Any = None,
        *,
        stream: Stream | None = None,
        broken: asyncio.Future[None] | None = None,
        way: Way | None = None,
        silence: float = 0.0,
    ) -> None:
        self.status = status
        self._body = body
        self._stream = stream
        self._broken = broken
        self._way = way
        self._silence = silence

    async def body(self) -> Any:
        return self._body if self._stream is None else await self._stream.body()

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        assert self._stream is not None
        lines = aiter(self._stream.lines())
        while (line := await self._next(lines)) is not None:
            yield line

    async def _next(self, lines: AsyncIterator[dict[str, Any]]) -> dict[str, Any] | None:
        """Return the next line, or None at the end; raises Unreachable if the way breaks meanwhile."""
        assert self._broken is not None
        assert self._way is not None
        coming = asyncio.ensure_future(anext(lines, None))
        either: set[asyncio.Future[Any]] = {coming, self._broken}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not self._broken.done() and not self._way.is_silent:
                return coming.result()
        finally:
            coming.cancel()
            await asyncio.wait({coming})  # else the stream would be closed under its reader
        if self._way.is_silent:
            await asyncio.sleep(self._silence)
        raise errors.Unreachable("the stream broke")


def _failed(failure: Failure) -> Response:
    if isinstance(failure.error, errors.Unreachable):
        raise failure.error
    return Response(failure.error.code, status_of(failure.error))

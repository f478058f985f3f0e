"""The way into an embedded API server without sockets: a door as over HTTP, without TLS, bytes and media types."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from functools import partial
from types import coroutine
from typing import Any, Final, Generic, TypeVar
from urllib.parse import unquote

import orjson

from fleetqueue.api import errors
from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.door import Stream
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.http.exchange import ServerResponse, TextStream, WatchStream, status_of
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

AGENT: Final = "fleetqueue"
T = TypeVar("T")


class InProcessDoor:
    """One user's door to one server."""

    def __init__(self, server: ApiServer, credentials: RequestCredentials) -> None:
        self.server = server
        self.credentials = credentials

    async def request(self, request: Request, *, timeout: float) -> Response:
        try:
            return await _within(timeout, self.answer(request))
        except TimeoutError:
            raise errors.Unreachable(f"{request}: no answer within {timeout:g} s") from None

    async def answer(self, request: Request) -> Response:
        """Answer a request, however long it takes."""
        try:
            answer = await self._ask(request)
        except errors.ApiError as error:
            return Response(error.code, status_of(error))
        assert isinstance(answer, ServerResponse)
        return Response(answer.status, answer.manifest)

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator[Stream]:
        try:
            answer = await self._ask(request)
        except errors.ApiError as error:
            yield RefusedStream(error.code, status_of(error))
            return
        status = 200
        if isinstance(answer, ServerResponse):  # a log that is not followed
            status = answer.status
            answer = TextStream(_lines_of(str(answer.body)))
        try:
            yield InProcessText(answer, status) if isinstance(answer, TextStream) else InProcessStream(answer)
        finally:
            await answer.events.aclose()

    async def close(self) -> None:
        """Nothing is open."""

    async def _ask(self, request: Request) -> ServerResponse | TextStream | WatchStream:
        return await self.server.answer(
            request.method,
            unquote(request.path),
            request.query,
            credentials=self.credentials,
            body=_own(request.body),
            content_type=request.content_type,
            agent=AGENT,
        )


class InProcessStream:
    """A watch; it ends when the server ends it, and is never silent by accident."""

    status = 200

    def __init__(self, events: WatchStream) -> None:
        self._events = events

    async def body(self) -> Any:
        return None

    async def lines(self) -> AsyncIterator[Manifest]:
        async for kind, obj in self._events.events:
            yield {"type": kind, "object": obj.object if isinstance(obj, StorageEntry) else obj}

    async def text(self) -> AsyncIterator[str]:
        raise AssertionError("a watch has no text")
        yield ""


class InProcessText:
    """The log of a pod."""

    def __init__(self, log: TextStream, status: int) -> None:
        self._log = log
        self.status = status

    async def body(self) -> Any:
        return None

    async def lines(self) -> AsyncIterator[Manifest]:
        raise AssertionError("a log has no events")
        yield {}

    async def text(self) -> AsyncIterator[str]:
        async for line in self._log.events:
            yield line.removesuffix("\n")


class RefusedStream:
    """An error that comes instead of a stream."""

    def __init__(self, status: int, body: Any) -> None:
        self.status = status
        self._body = body

    async def body(self) -> Any:
        return self._body

    async def lines(self) -> AsyncIterator[Manifest]:
        raise AssertionError("an error has no lines")
        yield {}

    async def text(self) -> AsyncIterator[str]:
        raise AssertionError("an error has no lines")
        yield ""


async def _lines_of(text: str) -> AsyncGenerator[str]:
    for line in text.splitlines():
        yield line


@coroutine
def _within(seconds: float, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Do something within a time. Most of it is done at once: only what has to wait is given a timer."""
    try:
        awaited = work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    return (yield from _timed(seconds, BegunWork(work, awaited)).__await__())


async def _timed(seconds: float, work: Awaitable[T]) -> T:
    async with asyncio.timeout(seconds):
        return await work


class BegunWork(Generic[T]):
    """The rest of something that waits."""

    def __init__(self, work: Coroutine[Any, Any, T], awaited: Any) -> None:
        self._work = work
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, T]:
        step: Callable[[], Any]
        awaited = self._awaited
        while True:
            try:
                sent = yield awaited
            except BaseException as error:
                step = partial(self._work.throw, error)
            else:
                step = partial(self._work.send, sent)
            try:
                awaited = step()
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]


def _own(body: Any) -> Any:
    """Copy what comes in, by way of JSON as any request: who sent it may change it, and what is stored must not."""
    return None if body is None else orjson.loads(orjson.dumps(body))

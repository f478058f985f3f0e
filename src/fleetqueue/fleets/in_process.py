"""The way into an embedded API server without sockets: a door as over HTTP, without TLS, bytes and media types."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import unquote

import orjson

from fleetqueue.api import errors
from fleetqueue.api.requests import Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.door import Stream
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.http.exchange import ServerResponse, WatchStream, status_of
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

AGENT: Final = "fleetqueue"


class InProcessDoor:
    """One user's door to one server."""

    def __init__(self, server: ApiServer, credentials: RequestCredentials) -> None:
        self.server = server
        self.credentials = credentials

    async def request(self, request: Request, *, timeout: float) -> Response:
        try:
            async with asyncio.timeout(timeout):
                return await self.answer(request)
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
        assert isinstance(answer, WatchStream)
        try:
            yield InProcessStream(answer)
        finally:
            await answer.events.aclose()

    async def close(self) -> None:
        """Nothing is open."""

    async def _ask(self, request: Request) -> ServerResponse | WatchStream:
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


def _own(body: Any) -> Any:
    """Copy what comes in, by way of JSON as any request: who sent it may change it, and what is stored must not."""
    return None if body is None else orjson.loads(orjson.dumps(body))

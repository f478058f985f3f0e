"""The way into an embedded API server without sockets: a door as over HTTP, without TLS, bytes and media types."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.requests import Request, Response
from fleetqueue.apiserver.auth.authentication import Credentials
from fleetqueue.apiserver.http.exchange import Answer, status_of
from fleetqueue.apiserver.http.exchange import Stream as Events
from fleetqueue.apiserver.server import ApiServer
from fleetqueue.apiserver.storage.interface import Entry

AGENT: Final = "fleetqueue"


class InProcessDoor:
    """One user's door to one server."""

    def __init__(self, server: ApiServer, credentials: Credentials) -> None:
        self.server = server
        self.credentials = credentials

    async def request(self, request: Request, *, timeout: float) -> Response:
        try:
            async with asyncio.timeout(timeout):
                answer = await self._ask(request)
        except errors.ApiError as error:
            return Response(error.code, status_of(error))
        except TimeoutError:
            raise errors.Unreachable(f"{request}: no answer within {timeout:g} s") from None
        assert isinstance(answer, Answer)
        return Response(answer.status, answer.manifest)

    @asynccontextmanager
    async def stream(self, request: Request, *, silence: float) -> AsyncIterator["InProcessStream"]:
        try:
            answer = await self._ask(request)
        except errors.ApiError as error:
            yield InProcessStream(error.code, status_of(error))
            return
        assert isinstance(answer, Events)
        stream = InProcessStream(200, events=answer, silence=silence)
        try:
            yield stream
        finally:
            await answer.events.aclose()

    async def close(self) -> None:
        """Nothing is open."""

    async def _ask(self, request: Request) -> Answer | Events:
        return await self.server.answer(
            request.method,
            request.path,
            request.query,
            credentials=self.credentials,
            body=request.body,
            content_type=request.content_type,
            agent=AGENT,
        )


class InProcessStream:
    def __init__(self, status: int, body: Any = None, *, events: Events | None = None, silence: float = 0.0) -> None:
        self.status = status
        self._body = body
        self._events = events
        self._silence = silence

    async def body(self) -> Any:
        return self._body

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        assert self._events is not None
        async for kind, obj in self._events.events:
            yield {"type": kind, "object": obj.object if isinstance(obj, Entry) else obj}

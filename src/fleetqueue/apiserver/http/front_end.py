"""One cluster's endpoint: a port on which its API is spoken, with TLS or without.

A process can have many, each with its own certificate. At the end streams end first, so that nobody waits for them.
"""

import asyncio
import ssl
from contextlib import suppress
from functools import partial
from typing import Any, Final

from aiohttp import HttpVersion11, web

from fleetqueue.api import errors
from fleetqueue.apiserver.auth.authentication import Authentication, subject_of
from fleetqueue.apiserver.http import responses, streams
from fleetqueue.apiserver.http.asking import Asking, RawRequest, Reply
from fleetqueue.apiserver.http.bodies import MOST_BYTES, too_large
from fleetqueue.apiserver.http.exchange import Answer, Stream, status_of
from fleetqueue.apiserver.http.handler import Handler

LONGEST_LINE: Final = 64 * 1024
"""Bytes of a request line or a header: selectors and tokens can be long."""
IDLE_SECONDS: Final = 150.0
"""How long a connection may be idle between requests; Go's clients close theirs after 90."""
HANDSHAKE_SECONDS: Final = 10.0
STOP_SECONDS: Final = 1.0
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class FrontEnd:
    def __init__(self, handler: Handler, authentication: Authentication) -> None:
        self._asking = Asking(handler, authentication)
        self._server: web.Server | None = None
        self._listener: asyncio.Server | None = None
        self._streams: set[asyncio.Task[Any]] = set()

    async def start(self, host: str = "127.0.0.1", port: int = 0, context: ssl.SSLContext | None = None) -> int:
        """Listen; return the port, which the system chooses for port 0."""
        self._server = web.Server(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=IDLE_SECONDS,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
        )
        tls: dict[str, Any] = {"ssl": context}
        if context is not None:
            tls |= {"ssl_handshake_timeout": HANDSHAKE_SECONDS, "ssl_shutdown_timeout": STOP_SECONDS}
        self._listener = await asyncio.get_running_loop().create_server(self._server, host, port, backlog=512, **tls)
        return int(self._listener.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """End streams, let answers that are under way go out, and close."""
        if self._listener is None or self._server is None:
            return
        self._listener.close()
        for stream in self._streams:
            stream.cancel()
        if self._streams:
            await asyncio.wait(self._streams, timeout=STOP_SECONDS)
        await self._server.shutdown(STOP_SECONDS)
        with suppress(TimeoutError):  # of a client that is still shaking hands
            async with asyncio.timeout(STOP_SECONDS):
                await self._listener.wait_closed()
        self._server = self._listener = None

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        reply = await self._asking.reply(_raw(request))
        audit_id = request.headers.get("Audit-Id", "")
        if isinstance(reply.answer, Stream):
            if request.version >= HttpVersion11:
                return await self._stream(request, reply.answer, audit_id)
            await reply.answer.events.aclose()
            refused = errors.BadRequest("a watch needs HTTP/1.1", reason="BadRequest")
            reply = Reply(Answer(refused.code, status_of(refused)))
        return _response(request, reply, audit_id)

    async def _stream(self, request: web.BaseRequest, stream: Stream, audit_id: str) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            headers = responses.headers("application/json", stream.warnings, audit_id=audit_id)
            return await streams.send(request, stream, headers)
        finally:
            self._streams.discard(task)


def _raw(request: web.BaseRequest) -> RawRequest:
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    subject = subject_of(certificate) if certificate else None
    return RawRequest(request.method, request.raw_path, request.headers, subject, partial(_read, request))


async def _read(request: web.BaseRequest) -> bytes:
    if (request.content_length or 0) > MOST_BYTES:
        raise too_large()
    if not request.can_read_body:
        return b""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(CONTINUE)
    content = bytearray()
    async for chunk in request.content.iter_any():
        content += chunk
        if len(content) > MOST_BYTES:
            raise too_large()
    return bytes(content)


def _response(request: web.BaseRequest, reply: Reply, audit_id: str) -> web.Response:
    answer = reply.answer
    assert isinstance(answer, Answer)
    pretty, agent = request.raw_path.find("pretty=") >= 0, request.headers.get("User-Agent", "")
    is_pretty = responses.is_for_people(request.query.get("pretty") if pretty else None, agent)
    body, media_type = responses.encoded(answer, reply.media_type, is_pretty=is_pretty)
    headers = responses.headers(media_type, answer.warnings, reply.retry_after, audit_id)
    return web.Response(status=answer.status, body=body, headers=headers)

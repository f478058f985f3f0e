"""A watch over HTTP: one line of JSON for each event, sent at once.

Events are written to the transport as finished chunks, which costs half of what aiohttp's own way does. Nothing is
queued for a client that reads slowly: the watch waits for it, and who does not read at all is dropped. It comes back
with the last revision that it saw.
"""

import asyncio
from typing import Final

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.http.exchange import Stream
from fleetqueue.apiserver.storage.interface import Entry

MOST_WAITING: Final = 64 * 1024
"""Bytes that may wait for a client before we wait for it."""
SLOW_SECONDS: Final = 30.0
"""How long a client may read nothing at all."""
END: Final = b"0\r\n\r\n"


async def send(request: web.BaseRequest, stream: Stream, headers: list[tuple[str, str]]) -> web.StreamResponse:
    """Send events until the watch ends; a client that goes away, or the end of the server, cancels this."""
    response = web.StreamResponse(headers=headers)
    response.enable_chunked_encoding()
    try:
        writer = await response.prepare(request)
        assert writer is not None
        writer.send_headers()
        await _send_events(request, stream, writer)
        await response.write_eof()
    except asyncio.CancelledError:
        _end(request)
        raise
    finally:
        await stream.events.aclose()
    return response


async def _send_events(request: web.BaseRequest, stream: Stream, writer: AbstractStreamWriter) -> None:
    transport = request.transport
    async for kind, obj in stream.events:
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has gone")
        transport.write(frame(kind, obj))
        if transport.get_write_buffer_size() > MOST_WAITING:
            await _let_read(transport, writer)


async def _let_read(transport: asyncio.WriteTransport, writer: AbstractStreamWriter) -> None:
    try:
        async with asyncio.timeout(SLOW_SECONDS):
            await writer.drain()
    except TimeoutError:
        transport.abort()
        raise ConnectionResetError("the client does not read") from None


def _end(request: web.BaseRequest) -> None:
    """End a stream that is cancelled as one that ended by itself, if anybody still listens."""
    if request.transport is not None and not request.transport.is_closing():
        request.transport.write(END)


def frame(kind: str, obj: Manifest | Entry) -> bytes:
    """Return an event as a chunk of HTTP."""
    json = obj.json if isinstance(obj, Entry) else orjson.dumps(obj)
    line = b'{"type":"%b","object":%b}\n' % (kind.encode(), json)
    return b"%x\r\n%b\r\n" % (len(line), line)

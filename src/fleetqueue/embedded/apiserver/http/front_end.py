"""One cluster's endpoint: a port on which its API is spoken, with TLS or without.

A process can have many, each with its own certificate. An endpoint can be cut off while its cluster runs on: it then
refuses its clients, or lets them wait. At the end streams end first, so that nobody waits for them.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.authentication import Authentication
from fleetqueue.embedded.apiserver.http import responses
from fleetqueue.embedded.apiserver.http.connection import ServerConnection
from fleetqueue.embedded.apiserver.http.exchange import ServerResponse, TextStream, WatchStream, status_of
from fleetqueue.embedded.apiserver.http.handler import Handler
from fleetqueue.embedded.apiserver.http.http1 import MalformedRequest, RequestHead
from fleetqueue.embedded.apiserver.http.listener import Context, Listener
from fleetqueue.embedded.apiserver.http.request_pipeline import RawRequest, Reply, Replying, RequestPipeline
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

IDLE_SECONDS: Final = 150.0
"""How long a connection may be idle between requests; Go's clients close theirs after 90."""
SWEEP_SECONDS: Final = 30.0
"""How often connections that are idle for too long are looked for."""
STOP_SECONDS: Final = 1.0
LARGE_BYTES: Final = 64 * 1024
_PRETTY: Final = re.compile(r"[?&]pretty=([^&]*)")
MOST_WAITING: Final = 64 * 1024
"""Bytes that may wait for a client before we wait for it."""
SLOW_SECONDS: Final = 30.0
"""How long a client may read nothing at all."""
LAST_CHUNK: Final = b"0\r\n\r\n"


class FrontEnd:
    def __init__(
        self, handler: Handler, authentication: Authentication, on_the_way: Callable[[Replying], Replying] | None = None
    ) -> None:
        """`on_the_way` may put something between the sockets and the server."""
        replying = RequestPipeline(handler, authentication).reply
        self._reply = replying if on_the_way is None else on_the_way(replying)
        self._listener: Listener | None = None
        self._sweeping: asyncio.TimerHandle | None = None
        self._connections: set[ServerConnection] = set()
        self._streams: dict[asyncio.Task[Any], tuple[ServerConnection, TextStream | WatchStream]] = {}
        self._is_frozen = False

    async def start(self, host: str = "127.0.0.1", port: int = 0, context: Context = None) -> int:
        """Listen; return the port, which the system chooses for port 0."""
        self._listener = Listener(host, port, context, lambda: ServerConnection(self._serve))
        self._sweep()
        return self._listener.port

    async def stop(self) -> None:
        """End streams, let answers that are under way go out, and close."""
        for stream in self._streams:
            stream.cancel()
        for connection in self._connections:
            connection.is_last = True
            if connection.idle_since is not None:
                connection.end()
        await self._close()

    async def refuse(self) -> None:
        """Break every connection, and refuse new ones until the next start."""
        for connection in self._connections:
            connection.abort()
        await self._close()

    async def freeze(self) -> None:
        """Let nothing through until `thaw`: connections stay open, new ones too, and nothing is answered."""
        if self._listener is not None:
            await self._listener.pause()
        self._is_frozen = True
        for connection in self._connections:
            connection.freeze()

    def thaw(self) -> None:
        """Go on where everything stopped."""
        self._is_frozen = False
        for connection in self._connections:
            connection.thaw()
        if self._listener is not None:
            self._listener.resume()

    def end_watches(self, error: Manifest | None = None) -> None:
        """End every open watch: cleanly, or with an ERROR event."""
        for task, (connection, stream) in self._streams.items():
            if isinstance(stream, WatchStream):
                if error is not None:
                    connection.write(_event_chunk("ERROR", orjson.dumps(error)))
                task.cancel()

    async def _close(self) -> None:
        """Stop listening, and wait a moment for those who are still being answered."""
        if self._listener is None or self._sweeping is None:
            return
        self._sweeping.cancel()
        listener, self._listener, self._sweeping = self._listener, None, None
        tasks = [connection.task for connection in self._connections if connection.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)
        for connection in list(self._connections):
            connection.abort()
        self._is_frozen = False
        await listener.close()

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        for connection in self._connections:
            if connection.idle_since is not None and loop.time() - connection.idle_since > IDLE_SECONDS:
                connection.end()
        self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep)

    async def _serve(self, connection: ServerConnection) -> None:
        """Answer one request after another."""
        if self._listener is None:  # it shook hands while we stopped
            connection.abort()
            return
        self._connections.add(connection)
        if self._is_frozen:
            connection.freeze()
        try:
            while await self._serve_one(connection):
                pass
        except MalformedRequest as error:
            text = f"{error.status} {responses.phrase(error.status)}: {error}".encode()
            headers = [*responses.headers(responses.TEXT), ("Connection", "close")]
            connection.write(responses.head(error.status, headers, len(text)) + text)
            await connection.linger()
        except ConnectionError:
            pass  # the client has gone
        finally:
            self._connections.discard(connection)

    async def _serve_one(self, connection: ServerConnection) -> bool:
        """Answer a request; tell whether another may follow."""
        head, body = await connection.request()
        reply = await self._reply(RawRequest(head.method, head.target, head.headers, connection.certificate, body.read))
        if isinstance(reply.answer, TextStream | WatchStream) and head.is_old:
            await reply.answer.events.aclose()
            refused = errors.BadRequest("a watch needs HTTP/1.1", reason="BadRequest")
            reply = Reply(ServerResponse(refused.code, status_of(refused)))
        if isinstance(reply.answer, TextStream | WatchStream):
            await self._stream(connection, head, reply.answer)
        else:
            for piece in _response(head, reply, reply.answer, is_last=connection.is_last):
                connection.write(piece)
            await connection.drain()
        if await body.drop():
            return head.keeps_alive and not connection.is_last
        await connection.linger()
        return False

    async def _stream(self, connection: ServerConnection, head: RequestHead, stream: TextStream | WatchStream) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._streams[task] = connection, stream
        media_type = responses.TEXT if isinstance(stream, TextStream) else "application/json"
        headers = responses.headers(media_type, stream.warnings, audit_id=head.headers.get("Audit-Id", ""))
        try:
            await _send(connection, stream, responses.head(200, headers, None))
        finally:
            del self._streams[task]


def _response(head: RequestHead, reply: Reply, answer: ServerResponse, *, is_last: bool) -> Sequence[bytes]:
    """Return an answer as it goes out; a large body stays by itself, and is not copied once more."""
    wish = _PRETTY.search(head.target)
    is_pretty = responses.is_for_people(wish and wish[1], head.headers.get("User-Agent", ""))
    body, media_type = responses.encoded(answer, reply.media_type, is_pretty=is_pretty)
    headers = responses.headers(media_type, answer.warnings, reply.retry_after, head.headers.get("Audit-Id", ""))
    if is_last or not head.keeps_alive:
        headers.append(("Connection", "close"))
    elif head.is_old:
        headers.append(("Connection", "keep-alive"))
    written = responses.head(answer.status, headers, len(body))
    if head.method == "HEAD":
        return (written,)
    return (written + body,) if len(body) < LARGE_BYTES else (written, body)


async def _send(connection: ServerConnection, stream: TextStream | WatchStream, head: bytes) -> None:
    """Send the events of a watch, one line of JSON each, or text, until it ends, or the server, which cancels this.

    Nothing is queued for a client that reads slowly: the watch waits for it, and who does not read at all is dropped.
    It comes back with the last revision that it saw.
    """
    try:
        connection.write(head)
        async for event in stream.events:
            connection.write(_chunk(event.encode()) if isinstance(event, str) else _frame(*event))
            if connection.unsent > MOST_WAITING:
                await _let_read(connection)
    finally:
        # One that is cancelled ends as one that ended by itself, if anybody still listens.
        connection.write(LAST_CHUNK)
        await stream.events.aclose()


async def _let_read(connection: ServerConnection) -> None:
    try:
        async with asyncio.timeout(SLOW_SECONDS):
            await connection.drain()
    except TimeoutError:
        connection.abort()
        raise ConnectionResetError("the client does not read") from None


def _frame(kind: str, obj: Manifest | StorageEntry) -> bytes:
    """Return an event as a chunk of HTTP."""
    return _shared_chunk(kind, obj) if isinstance(obj, StorageEntry) else _event_chunk(kind, orjson.dumps(obj))


@lru_cache(maxsize=16)
def _shared_chunk(kind: str, entry: StorageEntry) -> bytes:
    """Many watch the same, and get their events one right after another."""
    return _event_chunk(kind, entry.json)


def _event_chunk(kind: str, json: bytes) -> bytes:
    return _chunk(b'{"type":"%b","object":%b}\n' % (kind.encode(), json))


def _chunk(line: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(line), line)

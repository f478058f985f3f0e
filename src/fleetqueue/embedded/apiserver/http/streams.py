"""A watch over HTTP: one line of JSON for each event, sent at once.

Nothing is queued for a client that reads slowly: the watch waits for it, and who does not read at all is dropped. It
comes back with the last revision that it saw.
"""

import asyncio
from functools import lru_cache
from typing import Final

import orjson

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.http.connection import Connection
from fleetqueue.embedded.apiserver.http.exchange import Stream
from fleetqueue.embedded.apiserver.storage.interface import Entry

MOST_WAITING: Final = 64 * 1024
"""Bytes that may wait for a client before we wait for it."""
SLOW_SECONDS: Final = 30.0
"""How long a client may read nothing at all."""
END: Final = b"0\r\n\r\n"


async def send(connection: Connection, stream: Stream, head: bytes) -> None:
    """Send events until the watch ends, or the server, which cancels this."""
    try:
        connection.write(head)
        async for kind, obj in stream.events:
            connection.write(frame(kind, obj))
            if connection.unsent > MOST_WAITING:
                await _let_read(connection)
    finally:
        # One that is cancelled ends as one that ended by itself, if anybody still listens.
        connection.write(END)
        await stream.events.aclose()


async def _let_read(connection: Connection) -> None:
    try:
        async with asyncio.timeout(SLOW_SECONDS):
            await connection.drain()
    except TimeoutError:
        connection.abort()
        raise ConnectionResetError("the client does not read") from None


def frame(kind: str, obj: Manifest | Entry) -> bytes:
    """Return an event as a chunk of HTTP."""
    return _shared_frame(kind, obj) if isinstance(obj, Entry) else _frame(kind, orjson.dumps(obj))


@lru_cache(maxsize=16)
def _shared_frame(kind: str, entry: Entry) -> bytes:
    """Many watch the same, and get their events one right after another."""
    return _frame(kind, entry.json)


def _frame(kind: str, json: bytes) -> bytes:
    line = b'{"type":"%b","object":%b}\n' % (kind.encode(), json)
    return b"%x\r\n%b\r\n" % (len(line), line)

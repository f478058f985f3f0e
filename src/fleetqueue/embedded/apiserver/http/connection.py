"""One client's connection: bytes that came and wait to be read, and bytes that go out.

A connection has one task, which reads requests and answers them one after another; it is cancelled when the client goes
away. Nothing is read ahead of what the task takes, and nothing piles up for a client that does not read.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, NamedTuple

from fleetqueue.embedded.apiserver.auth.authentication import Certificate, subject_of
from fleetqueue.embedded.apiserver.http.http1 import MalformedRequest, RequestBody, RequestHead, RequestParser

MOST_AHEAD: Final = 256 * 1024
"""Bytes of a body that may come before anybody reads them."""
LINGER_SECONDS: Final = 1.0
"""How long a client that cannot be understood may go on sending."""
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

Work = Callable[["ServerConnection"], Coroutine[Any, Any, None]]


class HttpRequest(NamedTuple):
    head: RequestHead
    body: RequestBody


class ServerConnection(asyncio.Protocol):
    def __init__(self, work: Work) -> None:
        """The work is what the connection's task does; the connection closes when it ends."""
        self.certificate: Certificate | None = None
        """Who the verified client certificate is for."""
        self.task: asyncio.Task[None] | None = None
        self.idle_since: float | None = None
        """Since when a request is waited for; None while one is answered."""
        self.is_last = False
        """Whether the request that is being answered is the last one."""
        self._work = work
        self._transport: asyncio.Transport | None = None
        self._parser = RequestParser(self)
        self._requests: deque[HttpRequest] = deque()
        self._newest: RequestBody | None = None
        """The body of the request that is being received."""
        self._problem: MalformedRequest | None = None
        self._arrival: asyncio.Future[None] | None = None
        self._is_paused = False
        self._drained: asyncio.Future[None] | None = None
        self._held: list[bytes] | None = None

    # What the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        certificate = transport.get_extra_info("peercert")
        if certificate:
            content = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
            self.certificate = subject_of(certificate, content)
        self.task = asyncio.get_running_loop().create_task(self._run())

    def data_received(self, data: bytes) -> None:
        if self._problem is None:
            try:
                self._parser.feed(data)
            except MalformedRequest as problem:
                self._problem = problem
        if self._arrival is not None:
            _wake(self._arrival)
        elif self._is_ahead() and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._drained is not None and self._held is None:
            _wake(self._drained)
            self._drained = None

    # What the parser tells

    def begun(self, head: RequestHead) -> None:
        self._newest = RequestBody(head, self._more, lambda: self.write(CONTINUE))
        self._requests.append(HttpRequest(head, self._newest))

    def came(self, body: bytes) -> None:
        assert self._newest is not None
        self._newest.came(body)

    def ended(self) -> None:
        assert self._newest is not None
        self._newest.ended()

    # Reading

    async def request(self) -> HttpRequest:
        """Return the next request, whose body may still be on its way; raises MalformedRequest."""
        self.idle_since = asyncio.get_running_loop().time()
        while not self._requests:
            await self._more()
        self.idle_since = None
        request = self._requests.popleft()
        self._read_on()  # also while it is answered, or nobody would see the client go
        return request

    async def _more(self) -> None:
        """Wait until something has come; raises MalformedRequest where it makes no sense."""
        if self._problem is not None:
            raise self._problem
        self._read_on()
        self._arrival = asyncio.get_running_loop().create_future()
        try:
            await self._arrival
        finally:
            self._arrival = None

    def _read_on(self) -> None:
        if self._is_paused and self._held is None and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    def _is_ahead(self) -> bool:
        """Tell whether the client sends faster than it is answered."""
        return len(self._requests) > 0 or (self._newest is not None and self._newest.unread > MOST_AHEAD)

    # Writing

    @property
    def unsent(self) -> int:
        """How many bytes wait for the client to read."""
        waiting = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return waiting + sum(map(len, self._held or ()))

    def write(self, content: bytes) -> None:
        if self._held is not None:
            self._held.append(content)
        elif self._transport is not None:
            self._transport.write(content)

    async def drain(self) -> None:
        """Wait until the client has read most of what was written."""
        if self._drained is not None:
            await self._drained

    async def linger(self) -> None:
        """Let the client read the last answer: closing while it still sends could take the answer from it."""
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()
        self._problem = None
        self._parser.end()
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while True:
                    await self._more()

    def close(self) -> None:
        """Close when everything has been sent."""
        if self._transport is not None:
            self._transport.close()

    def end(self) -> None:
        """Leave off what the task does, and close."""
        if self.task is not None:
            self.task.cancel()

    def abort(self) -> None:
        """Close now."""
        if self._transport is not None:
            self._transport.abort()

    # A network that swallows everything

    def freeze(self) -> None:
        """Read nothing and send nothing, while the connection stays open."""
        if self._held is not None or self._transport is None:
            return
        self._held = []
        self.pause_writing()
        self._is_paused = True
        self._transport.pause_reading()

    def thaw(self) -> None:
        """Go on with everything that was held."""
        held, self._held = self._held or [], None
        for content in held:
            self.write(content)
        self.resume_writing()
        self._read_on()

    async def _run(self) -> None:
        try:
            await self._work(self)
        finally:
            self.close()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)

"""HTTP/1 requests: parsed with llhttp; the body is read when a handler wants it, and dropped otherwise."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, Protocol

import httptools
from multidict import CIMultiDict, MultiMapping

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.http.bodies import MOST_BYTES, too_large

VERSIONS: Final = ("1.0", "1.1")
LONGEST_HEAD: Final = 256 * 1024
"""Bytes of a request's first line and its headers: selectors and tokens can be long."""
DROP_SECONDS: Final = 10.0
"""How long a client may go on sending what nobody wants."""


class MalformedRequest(Exception):
    """A request that cannot be answered; the connection ends with it."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


class RequestHead(NamedTuple):
    """The first line of a request, and its headers."""

    method: str
    target: str
    """Path and query, as the request has them."""
    headers: MultiMapping[str]
    is_old: bool = False
    """Whether the client uses HTTP/1.0, which has no chunks."""
    keeps_alive: bool = True
    """Whether the client may ask again on the same connection."""

    @property
    def length(self) -> int:
        """The Content-Length, where there is one."""
        return int(self.headers.get("Content-Length", "0"))

    @property
    def awaits_continue(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends the body."""
        return not self.is_old and self.headers.get("Expect", "").lower() == "100-continue"


class RequestListener(Protocol):
    """Is called when the head of a request is there, and with its body as it comes."""

    def begun(self, head: RequestHead) -> None:
        """A request has begun; all that comes until `ended` is its body."""
        ...

    def came(self, body: bytes) -> None:
        """A piece of the body has come."""
        ...

    def ended(self) -> None:
        """The request is there as a whole."""
        ...


class RequestParser:
    def __init__(self, listener: RequestListener) -> None:
        self._listener = listener
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._head_bytes = 0
        """How much has come of a head that is not yet there as a whole."""
        self._is_over = False

    def feed(self, data: bytes) -> None:
        """Read on; raises MalformedRequest. What comes after an upgrade to another protocol is not read."""
        if self._is_over:
            return
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_over = True
        except httptools.HttpParserError as error:
            self._is_over = True
            if isinstance(error.__context__, MalformedRequest):
                raise error.__context__ from None
            raise MalformedRequest(str(error) or "malformed request") from None
        if self._head_bytes > LONGEST_HEAD:
            self._is_over = True
            raise MalformedRequest("the headers are too long", 431)

    def end(self) -> None:
        """Read nothing more."""
        self._is_over = True

    # What llhttp tells

    def on_message_begin(self) -> None:
        self._target, self._headers = b"", []

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("ascii"), value.rstrip(b" \t").decode("utf-8", "surrogateescape")))

    def on_headers_complete(self) -> None:
        self._head_bytes = 0
        headers: CIMultiDict[str] = CIMultiDict(self._headers)
        if headers.get("Transfer-Encoding", "chunked").lower() != "chunked":
            raise MalformedRequest("unsupported transfer encoding", 501)
        version = self._parser.get_http_version()
        if version not in VERSIONS:
            raise MalformedRequest(f"HTTP/{version} is not spoken here", 505)
        method = self._parser.get_method().decode("ascii")
        target = self._target.decode("utf-8", "surrogateescape")
        keeps_alive = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        self._listener.begun(RequestHead(method, target, headers, version == "1.0", keeps_alive))

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        self._listener.came(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        self._listener.ended()


class RequestBody:
    def __init__(self, head: RequestHead, more: Callable[[], Awaitable[None]], ask: Callable[[], None]) -> None:
        """`more` waits until something has come, and raises MalformedRequest; `ask` tells a waiting client to send."""
        self._length = head.length
        self._more = more
        self._ask = ask
        self._is_asked_for = not head.awaits_continue
        self._content = bytearray()
        self._is_whole = False
        self._is_malformed = False
        self._is_unwanted = False

    @property
    def unread(self) -> int:
        """How many bytes wait to be read."""
        return len(self._content)

    def came(self, piece: bytes) -> None:
        if not self._is_unwanted:
            self._content += piece

    def ended(self) -> None:
        self._is_whole = True

    async def read(self) -> bytes:
        """Read all of it; raises RequestEntityTooLarge, BadRequest where it makes no sense."""
        if self._length > MOST_BYTES:
            raise too_large()
        if not self._is_asked_for:
            self._is_asked_for = True
            self._ask()
        try:
            while not self._is_whole and len(self._content) <= MOST_BYTES:
                await self._more()
        except MalformedRequest as error:
            self._is_malformed = True
            raise errors.BadRequest(str(error), reason="BadRequest") from None
        if len(self._content) > MOST_BYTES:
            raise too_large()
        return bytes(self._content)

    async def drop(self) -> bool:
        """Let what nobody wanted pass, so that the next request can be read; tell whether one can follow."""
        if self._is_whole:
            return True
        if self._is_malformed or not self._is_asked_for:
            return False  # where the next request begins is up to the client
        self._is_unwanted = True
        self._content.clear()
        try:
            async with asyncio.timeout(DROP_SECONDS):
                while not self._is_whole:
                    await self._more()
        except (MalformedRequest, TimeoutError):
            return False
        return True

"""From bytes to requests, with llhttp: every request is told when its head is there, and its body as it comes."""

from typing import Final, Protocol

import httptools
from multidict import CIMultiDict

from fleetqueue.embedded.apiserver.http.request_head import MalformedRequest, RequestHead

VERSIONS: Final = ("1.0", "1.1")
LONGEST_HEAD: Final = 256 * 1024
"""Bytes of a request's first line and its headers: selectors and tokens can be long."""


class Listener(Protocol):
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
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._head_bytes = 0
        """How much has come of a head that is not yet there as a whole."""
        self._is_over = False

    def feed(self, data: bytes) -> None:
        """Read on; raises MalformedRequest. What comes after a wish to speak another protocol is not read."""
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

"""The body of an HTTP/1 request: read when it is asked for, and dropped where it is not."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.http.bodies import MOST_BYTES, too_large
from fleetqueue.embedded.apiserver.http.request_head import MalformedRequest, RequestHead

DROP_SECONDS: Final = 10.0
"""How long a client may go on sending what nobody wants."""


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

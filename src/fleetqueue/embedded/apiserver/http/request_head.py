"""The head of an HTTP/1 request: its first line and its headers."""

from typing import NamedTuple

from multidict import MultiMapping


class MalformedRequest(Exception):
    """A request that cannot be answered; the connection ends with it."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


class RequestHead(NamedTuple):
    method: str
    target: str
    """Path and query, as the request has them."""
    headers: MultiMapping[str]
    is_old: bool = False
    """Whether the client speaks HTTP/1.0, which knows no chunks."""
    keeps_alive: bool = True
    """Whether the client may ask again on the same connection."""

    @property
    def length(self) -> int:
        """Bytes of the body, where they are told."""
        return int(self.headers.get("Content-Length", "0"))

    @property
    def awaits_continue(self) -> bool:
        """Whether the client sends the body only when it is asked to."""
        return not self.is_old and self.headers.get("Expect", "").lower() == "100-continue"

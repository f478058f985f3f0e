"""One request to an API server and its answer, before any bytes: the same over HTTP and in process."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})


class Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str] = NO_QUERY
    body: Any = None
    content_type: str = JSON

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Response(NamedTuple):
    status: int
    body: Any
    """Decoded JSON, or text where the server sent something else (health endpoints do)."""


class WatchEvent(NamedTuple):
    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: dict[str, Any]

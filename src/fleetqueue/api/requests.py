"""One request to an API server and its answer, before any bytes: the same over HTTP and in process."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from fleetqueue.api import errors

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})
_INTEGER: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)


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
    date: str = ""
    """What time it is there, as the header says it; empty where there are no headers."""


class WatchEvent(NamedTuple):
    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: dict[str, Any]


def number(query: Mapping[str, str], name: str) -> int | None:
    """Read an integer of a query, and say what is wrong with it as Kubernetes does; raises BadRequest."""
    text = query.get(name)
    if text is None:
        return None
    if _INTEGER.fullmatch(text) is None:
        raise errors.BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax', reason="BadRequest")
    if not -(2**63) <= int(text) < 2**63:
        raise errors.BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range', reason="BadRequest")
    return int(text)

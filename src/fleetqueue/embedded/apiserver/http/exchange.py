"""A request to the server and its response, as objects: the same over HTTP and within the process."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.http.request_info import RequestInfo
from fleetqueue.embedded.apiserver.registry.continue_tokens import Expired
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry


@dataclass(frozen=True, slots=True)
class RequestContext:
    info: RequestInfo
    user: User
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """Decoded; a patch is what its media type makes of it."""
    content_type: str = "application/json"
    agent: str = ""
    """The client's User-Agent: the field manager where the query names none."""
    form: str = ""
    """What objects are converted to: nothing, Table, PartialObjectMetadata or PartialObjectMetadataList."""
    mistakes: Sequence[str] = ()
    """What is wrong with the body and only warned of, such as a field that is there twice."""
    form_version: str = "v1"
    """The version of the form, in `meta.k8s.io`."""
    warnings: list[str] = field(default_factory=list)
    """Warnings for the client, which are sent with errors, too."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of objects as they are, which have their JSON already."""

    kind: str
    api_version: str
    metadata: Manifest
    entries: Sequence[StorageEntry]
    omitted: bytes = b""
    """How the JSON of an item begins, where a client knows that beginning from the list."""

    @property
    def manifest(self) -> Manifest:
        return {**self._head, "items": [entry.object for entry in self.entries]}

    @property
    def json(self) -> bytes:
        """The JSON of the list, put together from that of its items."""
        skipped = len(self.omitted)
        items = [
            b"{" + entry.json[skipped:] if skipped and entry.json.startswith(self.omitted) else entry.json
            for entry in self.entries
        ]
        beginning = orjson.dumps(self._head)[:-1] + b',"items":['
        if not items:
            return beginning + b"]}"
        # Joined once: a list may be large, and every further step would copy all of it.
        items[0] = beginning + items[0]
        items[-1] += b"]}"
        return b",".join(items)

    @property
    def _head(self) -> Manifest:
        return {"kind": self.kind, "apiVersion": self.api_version, "metadata": self.metadata}


class ServerResponse(NamedTuple):
    status: int
    body: Manifest | StorageEntry | Listing | bytes | str
    """An entry and a Listing have their JSON already, bytes are JSON; text is for health and metrics."""
    warnings: Sequence[str] = ()
    media_type: str = ""
    """Where it is none of those that all responses may have."""

    @property
    def manifest(self) -> Any:
        body = self.body
        if isinstance(body, bytes):
            return orjson.loads(body)
        if isinstance(body, StorageEntry):
            return body.object
        return body.manifest if isinstance(body, Listing) else body


@dataclass(frozen=True, slots=True)
class WatchStream:
    """A watch: each item is one event."""

    events: AsyncGenerator[tuple[str, Manifest | StorageEntry]]
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class TextStream:
    """Text that comes bit by bit: the log of a pod that is followed."""

    events: AsyncGenerator[str]
    warnings: Sequence[str] = ()


WITH_DETAILS: Final = ("NotFound", "Invalid", "Forbidden", "MethodNotAllowed")
"""Reasons whose details are there even if they are empty."""


def status_of(error: errors.ApiError) -> Manifest:
    """Build the Status that an error is on the wire."""
    metadata = {"continue": error.token} if isinstance(error, Expired) else {}
    status: Manifest = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": metadata,
        "status": "Failure",
        "message": error.message,
    }
    if error.reason:
        status["reason"] = error.reason
    # What the real server's router refuses has details too, if empty ones.
    if error.details or error.reason in WITH_DETAILS or error.message.startswith(("406: ", "415: ")):
        status["details"] = dict(error.details)
    return {**status, "code": error.code}

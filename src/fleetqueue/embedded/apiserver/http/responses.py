"""What goes back over HTTP: the bytes of an answer, and the headers that every answer has."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Final

import orjson

from fleetqueue import clock
from fleetqueue.api.requests import JSON
from fleetqueue.embedded.apiserver.http.exchange import Listing, ServerResponse
from fleetqueue.embedded.apiserver.http.media_types import YAML
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

TEXT: Final = "text/plain; charset=utf-8"
MOST_WARNED: Final = 4096
"""How much all warnings of an answer may say together; above it each is cut."""
CUT: Final = 256
DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
HUMAN_AGENTS: Final = ("curl", "Wget", "Mozilla/5.0")


def encoded(answer: ServerResponse, media_type: str = JSON, *, is_pretty: bool = False) -> tuple[bytes, str]:
    """Return the bytes of an answer, and their media type."""
    body = answer.body
    if isinstance(body, str):
        return body.encode(), answer.media_type or TEXT
    if answer.media_type:
        return (body if isinstance(body, bytes) else orjson.dumps(answer.manifest)), answer.media_type
    if media_type == YAML:
        from fleetqueue.embedded.apiserver.http import yaml_documents

        return yaml_documents.dump(answer.manifest), YAML
    if is_pretty:
        return orjson.dumps(answer.manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE), JSON
    if isinstance(body, StorageEntry | Listing):
        return body.json, JSON
    return (body if isinstance(body, bytes) else orjson.dumps(body)), JSON


def head(status: int, headers: Sequence[tuple[str, str]], length: int | None) -> bytes:
    """Return the first line of an answer, and its headers; without a length the body comes in chunks.

    An answer without content may not have a length either: https://www.rfc-editor.org/rfc/rfc9110#section-8.6
    """
    framing = "Transfer-Encoding: chunked\r\n" if length is None else f"Content-Length: {length}\r\n"
    if status == HTTPStatus.NO_CONTENT:
        framing = ""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} {phrase(status)}\r\n{lines}{framing}\r\n".encode()


@cache
def phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "status"


def headers(
    media_type: str, warnings: Sequence[str] = (), retry_after: float | None = None, audit_id: str = ""
) -> list[tuple[str, str]]:
    fields = [
        ("Audit-Id", audit_id or clock.uid()),
        ("Cache-Control", "no-cache, private"),
        ("Content-Type", media_type),
        ("Date", _date(int(clock.now().timestamp()))),
        ("Server", "fleetqueue"),
    ]
    if media_type == TEXT:
        fields.append(("X-Content-Type-Options", "nosniff"))
    if retry_after:
        fields.append(("Retry-After", str(int(retry_after))))
    return [*fields, *(("Warning", text) for text in _warned(warnings))] if warnings else fields


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    moment = datetime.fromtimestamp(second, UTC)
    return f"{DAYS[moment.weekday()]}, {moment:%d} {MONTHS[moment.month - 1]} {moment:%Y %H:%M:%S} GMT"


def is_for_people(pretty: str | None, agent: str) -> bool:
    """Tell whether JSON is indented: where the query says so, and for programs with which people look."""
    if pretty:
        return pretty in ("1", "t", "T", "true", "True", "TRUE")
    return agent.startswith(HUMAN_AGENTS)


def _warned(warnings: Sequence[str]) -> Iterator[str]:
    texts = list(dict.fromkeys(filter(None, warnings)))
    most = CUT if sum(map(len, texts)) > MOST_WARNED else MOST_WARNED
    room = MOST_WARNED
    for text in texts:
        if room <= 0:
            return
        room -= len(text[:most])
        yield f'299 - "{_quoted(text[:most])}"'


def _quoted(text: str) -> str:
    """Return a text for a header: without what could end it."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return printable.replace("\\", "\\\\").replace('"', '\\"')

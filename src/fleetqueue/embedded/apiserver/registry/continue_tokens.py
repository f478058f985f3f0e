"""Where the next page of a list begins, as text that clients send back."""

import re
from typing import Final

import orjson

from fleetqueue.api import errors, go_json
from fleetqueue.embedded.apiserver.auth.base64url import decode, encode

_LETTERS: Final = re.compile(r"[A-Za-z0-9_-]*")
VERSION: Final = "meta.k8s.io/v1"
NEWEST: Final = -1
"""The revision of a token that goes on with whatever is there now."""

TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without"
    " the continue parameter, or use the continue token in this response to retrieve the remainder of the results."
    " Continuing with the provided token results in an inconsistent list - objects that were created, modified, or"
    " deleted between the time the first chunk was returned and now may show up in the list."
)


class Expired(errors.Gone):
    """A page that cannot be shown any more; carries the token to go on without consistency."""

    def __init__(self, after: str, prefix: str) -> None:
        super().__init__(TOO_OLD, reason="Expired")
        self.token = _written(after.removeprefix(prefix), NEWEST)


def write(last_key: str, prefix: str, revision: int) -> str:
    """Return the token for what comes after a key."""
    return _written(f"/{last_key.removeprefix(prefix)}\0", revision)


def _written(start: str, revision: int) -> str:
    return encode(orjson.dumps({"v": VERSION, "rv": revision, "start": start}))


def read(token: str, prefix: str) -> tuple[int | None, str]:
    """Return the revision that a token is for (None for the newest), and the key to go on after."""
    version, revision, start = _parts(token)
    if version != VERSION:
        raise _invalid(f"server does not recognize this encoded version {version}")
    if revision == 0:
        raise _invalid(f"incorrect encoded start resourceVersion (version {VERSION})")
    if not start:
        raise _invalid(f"encoded start key empty (version {VERSION})")
    start = start.removeprefix("/")
    if any(part in ("", ".", "..") for part in start.split("/")):
        raise _invalid(f"{start}")
    return (None if revision == NEWEST else revision), prefix + start


def _parts(token: str) -> tuple[str, int, str]:
    place = len(_LETTERS.match(token)[0])  # type: ignore[index]
    if place < len(token) or len(token) % 4 == 1:
        raise _invalid(f"illegal base64 data at input byte {min(place, len(token) - 1)}")
    content = decode(token)
    try:
        parts = orjson.loads(content) or {}
        return str(parts.get("v", "")), int(parts.get("rv", 0)), str(parts.get("start", ""))
    except (ValueError, AttributeError, TypeError):
        raise _invalid(go_json.fault(content) or "no token") from None


def _invalid(why: str) -> errors.BadRequest:
    return errors.BadRequest(f"invalid continue token: continue key is not valid: {why}", reason="BadRequest")

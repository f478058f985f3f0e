"""Where the next page of a list begins, as text that clients send back."""

from typing import Final

import orjson

from fleetqueue.api import errors
from fleetqueue.apiserver.auth.base64url import decode, encode

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
        self.token = write(after.removesuffix("\0"), prefix, NEWEST)


def write(last_key: str, prefix: str, revision: int) -> str:
    """Return the token for what comes after a key."""
    start = last_key.removeprefix(prefix) + "\0"
    return encode(orjson.dumps({"v": VERSION, "rv": revision, "start": start}))


def read(token: str, prefix: str) -> tuple[int | None, str]:
    """Return the revision that a token is for (None for the newest), and the key to go on after."""
    try:
        parts = orjson.loads(decode(token))
        version, revision, start = parts["v"], int(parts["rv"]), str(parts["start"])
    except (ValueError, KeyError, TypeError):
        raise _invalid("encoded in an unexpected way") from None
    if version != VERSION:
        raise _invalid(f"server does not recognize this encoded version {version}")
    if not start or any(part in ("", ".", "..") for part in start.split("/")):
        raise _invalid(start)
    return (None if revision == NEWEST else revision), prefix + start


def _invalid(why: str) -> errors.BadRequest:
    return errors.BadRequest(f"invalid continue token: continue key is not valid: {why}", reason="BadRequest")

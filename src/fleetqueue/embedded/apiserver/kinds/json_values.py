"""Single values of built-in kinds as Go reads them from JSON and writes them again: times, quantities, numbers, bytes.

Each reader returns the very value that it was given where nothing changes. A value of the wrong JSON type raises
Mismatch; one of the right type that cannot be understood raises Unreadable with Go's words.
"""

import re
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import orjson

from fleetqueue.api import canonical_quantities
from fleetqueue.embedded.apiserver.kinds import go_time

Read = Callable[[Any], Any]

_SECONDS: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
_USUAL: Final = {
    go_time.RFC3339: re.compile(f"{_SECONDS}Z"),
    go_time.RFC3339_MICRO: re.compile(rf"{_SECONDS}\.[0-9]{{6}}Z"),
}
"""How nearly all times are written."""
_USUAL_LENGTH: Final = len("2026-01-01T00:00:00Z")
_ZERO_TIME: Final = datetime(1, 1, 1, tzinfo=UTC)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BASE64_LETTERS: Final = re.compile(r"[A-Za-z0-9+/]*")
_JSON_TYPES: Final = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


class Mismatch(Exception):
    """A value of another JSON type than its field; carries what Go calls the value and the field's type."""

    def __init__(self, value: Any, wanted: str) -> None:
        super().__init__(f"{described(value)} is no {wanted}")
        self.found = described(value)
        self.wanted = wanted


class Unreadable(Exception):
    """A value that cannot be understood; the text is Go's."""


class Illegal(Unreadable):
    """A value that cannot be understood, but after which Go reads on."""


def described(value: Any) -> str:
    """Say what a JSON value is, as Go does when it is not what a field wants."""
    return _JSON_TYPES.get(type(value), "null")


def text(value: Any) -> Any:
    if type(value) is str:
        return value
    return _zero(value, "", "string")


def boolean(value: Any) -> Any:
    if type(value) is bool:
        return value
    return _zero(value, False, "bool")


def integer(bits: int, *, signed: bool = True) -> Read:
    limit, least = (2 ** (bits - 1), -(2 ** (bits - 1))) if signed else (2**bits, 0)
    name = f"int{bits}" if signed else f"uint{bits}"

    def read(value: Any) -> Any:
        if type(value) is int and least <= value < limit:
            return value
        if type(value) in (int, float):
            error = Mismatch(value, name)
            error.found = f"number {orjson.dumps(value).decode() if type(value) is float else value}"
            raise error
        return _zero(value, 0, name)

    return read


def floating(value: Any) -> Any:
    if type(value) in (int, float):
        return value
    return _zero(value, 0, "float64")


def octets(value: Any) -> Any:
    """Read base64, or a list of bytes."""
    if type(value) is list:
        return b64encode(bytes(_octet(item) or 0 for item in value)).decode()
    if type(value) is not str:
        return _zero(value, None, "[]uint8")
    compact = value if "\n" not in value and "\r" not in value else value.replace("\n", "").replace("\r", "")
    if _BASE64.fullmatch(compact) is None:
        good = _BASE64_LETTERS.match(compact)
        at = good.end() if good else 0
        at -= at % 4 if at == len(compact) else 0  # where the four letters begin that do not come to their end
        raise Illegal(f"illegal base64 data at input byte {at}")
    return compact


def time(value: Any) -> str | None:
    if value is None:
        return None
    text = _text(value)
    after = _known_seconds(text) if len(text) == _USUAL_LENGTH else _in_seconds(text)
    return text if after == text else after


def _in_seconds(text: str) -> str | None:
    moment = _moment(text, go_time.RFC3339)
    return None if moment is None else f"{moment.isoformat(timespec='seconds')[:19]}Z"


_known_seconds: Final = lru_cache(maxsize=1024)(_in_seconds)
"""What is written within a second has the same times; only short ones are kept."""


def micro_time(value: Any) -> str | None:
    moment = None if value is None else _moment(_text(value), go_time.RFC3339_MICRO)
    if moment is None:
        return None
    text = f"{moment.isoformat(timespec='microseconds')[:26]}Z"
    return str(value) if text == value else text


def _text(value: Any) -> str:
    if type(value) is not str:
        raise Mismatch(value, "string")
    return value


def _moment(text: str, layout: str) -> datetime | None:
    try:
        moment = _usual_moment(text, _USUAL[layout]) or go_time.parsed(text, layout).as_datetime
    except go_time.BadTime as error:
        raise Unreadable(str(error)) from None
    except OverflowError:
        raise Unreadable("year outside of range [1,9999]") from None
    return None if moment == _ZERO_TIME else moment


def _usual_moment(text: str, form: re.Pattern[str]) -> datetime | None:
    """Read a time in the usual form, as nearly all are; None for others, and for what is none."""
    if form.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def quantity(value: Any) -> str:
    if type(value) is not str:
        value = "0" if value is None else orjson.dumps(value).decode()
    try:
        return canonical_quantities.canonical(value.strip())
    except ValueError as error:
        raise Unreadable(str(error)) from None


def int_or_string(value: Any) -> Any:
    if type(value) is str:
        return value
    if type(value) is int and -(2**31) <= value < 2**31:
        return value
    if value is None:
        return 0
    return _INT32(value)


_INT32: Final = integer(32)
_octet: Final = integer(8, signed=False)


def anything(value: Any) -> Any:
    return value


def _zero(value: Any, zero: Any, wanted: str) -> Any:
    """Return the zero that a null stands for."""
    if value is None:
        return zero
    raise Mismatch(value, wanted)

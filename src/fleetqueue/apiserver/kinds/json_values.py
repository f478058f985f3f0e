"""Single values of built-in kinds as Go reads them from JSON and writes them again: times, quantities, numbers, bytes.

Each reader returns the very value that it was given where nothing changes. A value of the wrong JSON type raises
Mismatch; one of the right type that cannot be understood raises Unreadable with Go's words.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, NoReturn

import orjson

from fleetqueue.apiserver.kinds import quantities

Read = Callable[[Any], Any]

_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")
_SECONDS_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
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


def integer(bits: int) -> Read:
    limit, name = 2 ** (bits - 1), f"int{bits}"

    def read(value: Any) -> Any:
        if type(value) is int and -limit <= value < limit:
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
    """Read base64."""
    if type(value) is not str:
        return _zero(value, None, "[]uint8")
    compact = value if "\n" not in value and "\r" not in value else value.replace("\n", "").replace("\r", "")
    if _BASE64.fullmatch(compact) is None:
        good = _BASE64_LETTERS.match(compact)
        at = good.end() if good else 0
        at -= at % 4 if at == len(compact) else 0  # where the four letters begin that do not come to their end
        raise Unreadable(f"illegal base64 data at input byte {at}")
    return compact


def time(value: Any) -> str | None:
    moment = _read_moment(value, _SECONDS_LAYOUT)
    if moment is None:
        return None
    text = f"{moment.replace(microsecond=0, tzinfo=None).isoformat()}Z"
    return str(value) if text == value else text


def micro_time(value: Any) -> str | None:
    moment = _read_moment(value, _MICRO_LAYOUT)
    if moment is None:
        return None
    text = f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
    return str(value) if text == value else text


def _read_moment(value: Any, layout: str) -> datetime | None:
    if value is None:
        return None
    if type(value) is not str:
        raise Mismatch(value, "string")
    moment = _moment(value, layout)
    return None if moment == _ZERO_TIME else moment


def _moment(value: str, layout: str) -> datetime:
    """Parse a time; the words of the refusal are right where the text does not even begin with a year."""
    found = _TIME.fullmatch(value)
    try:
        if found is None or (layout is _MICRO_LAYOUT and len(found[1] or "") != 7):
            raise ValueError
        return datetime.fromisoformat(value).astimezone(UTC)
    except ValueError:
        _refuse_time(value, layout)


def _refuse_time(value: str, layout: str) -> NoReturn:
    shown = orjson.dumps(value).decode()
    if layout is _MICRO_LAYOUT and (seconds := re.match(r"[-0-9]{10}T[:0-9]{8}", value)):
        rest = orjson.dumps(value[seconds.end() :]).decode()
        raise Unreadable(f'parsing time {shown} as "{layout}": cannot parse {rest} as ".000000"')
    raise Unreadable(f'parsing time {shown} as "{layout}": cannot parse {shown} as "2006"')


def quantity(value: Any) -> str:
    if type(value) is not str:
        value = "0" if value is None else orjson.dumps(value).decode()
    try:
        return quantities.canonical(value)
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


def anything(value: Any) -> Any:
    return value


def _zero(value: Any, zero: Any, wanted: str) -> Any:
    """Return the zero that a null stands for."""
    if value is None:
        return zero
    raise Mismatch(value, wanted)

"""The types that write their own JSON: times, quantities, int-or-strings, and JSON within protobuf."""

from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from fleetqueue.embedded.apiserver.kinds import quantities
from fleetqueue.embedded.apiserver.kinds.wire import Malformed, Message, signed32, signed64
from fleetqueue.embedded.apiserver.kinds.wire_fields import number, string, value
from fleetqueue.embedded.apiserver.kinds.wire_values import raw_bytes

_EPOCH: Final = datetime(1970, 1, 1)
_ZERO_TIME: Final = datetime(1, 1, 1)

_TIMESTAMP: Final = Message("Timestamp")
_TIMESTAMP.add_number(1, "Seconds", number("seconds", signed64, keeps=True))
_TIMESTAMP.add_number(2, "Nanos", number("nanos", signed32, keeps=True))

_QUANTITY: Final = Message("Quantity")
_QUANTITY.add(1, "String_", string("string", keeps=True))

_INT_OR_STRING: Final = Message("IntOrString")
_INT_OR_STRING.add_number(1, "Type", number("type", signed64, keeps=True))
_INT_OR_STRING.add_number(2, "IntVal", number("intVal", signed32, keeps=True))
_INT_OR_STRING.add(3, "StrVal", string("strVal", keeps=True))

_HOLDER: Final = Message("RawExtension")
_HOLDER.add(1, "Raw", value("raw", raw_bytes, keeps=True))


def time(data: bytes, at: int, stop: int, depth: int) -> str | None:
    """Read a time, which has whole seconds only; the zero time is null."""
    found = _TIMESTAMP.read(data, at, stop, {}, depth + 1)
    moment = _moment(found.get("seconds", 0), 0)
    return None if at == stop or moment == _ZERO_TIME else f"{moment.isoformat()}Z"


def micro_time(data: bytes, at: int, stop: int, depth: int) -> str | None:
    found = _TIMESTAMP.read(data, at, stop, {}, depth + 1)
    moment = _moment(found.get("seconds", 0), found.get("nanos", 0))
    return None if at == stop or moment == _ZERO_TIME else f"{moment.isoformat(timespec='microseconds')}Z"


def _moment(seconds: int, nanos: int) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise Malformed(f"a time outside of the years 1 to 9999: {seconds} seconds since 1970") from None


def quantity(data: bytes, at: int, stop: int, depth: int) -> str:
    found = _QUANTITY.read(data, at, stop, {}, depth + 1)
    try:
        return quantities.canonical(found.get("string", "0"))
    except ValueError as error:
        raise Malformed(str(error)) from None


def int_or_string(data: bytes, at: int, stop: int, depth: int) -> int | str:
    found = _INT_OR_STRING.read(data, at, stop, {}, depth + 1)
    kind = found.get("type", 0)
    if kind not in (0, 1):
        raise Malformed("impossible IntOrString.Type")
    value: int | str = found.get("strVal", "") if kind else found.get("intVal", 0)
    return value


def held(data: bytes, at: int, stop: int, depth: int) -> bytes:
    """Read the bytes that a RawExtension, FieldsV1 or JSON holds."""
    found: bytes = _HOLDER.read(data, at, stop, {}, depth + 1).get("raw", b"")
    return found


def json(data: bytes, at: int, stop: int, depth: int) -> Any:
    """Read a message that holds JSON; without any it is null."""
    found = held(data, at, stop, depth)
    return parsed(found) if found else None


def parsed(document: bytes) -> Any:
    try:
        return orjson.loads(document)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"invalid JSON: {error}") from None

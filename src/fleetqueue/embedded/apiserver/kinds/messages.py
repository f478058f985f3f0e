"""How the messages of built-in kinds become JSON, by the table of their types.

Times, quantities, int-or-strings and JSON within protobuf write their own JSON; they stand first.

Go writes a field that is absent on the wire as its zero, unless its tag says omitempty; and it leaves out a zero that
was sent, if its tag says so and the field is no pointer.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import orjson

from fleetqueue.api import canonical_quantities
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import envelope, wire_fields
from fleetqueue.embedded.apiserver.kinds.envelope import Envelope
from fleetqueue.embedded.apiserver.kinds.table import TypeField, table, type_of
from fleetqueue.embedded.apiserver.kinds.wire import BYTES, FIXED64, Malformed, Message, Out, signed32, signed64
from fleetqueue.embedded.apiserver.kinds.wire_fields import Read, number, raw_bytes, string, value

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
    fields = _TIMESTAMP.read(data, at, stop, {}, depth + 1)
    moment = _moment(fields.get("seconds", 0), 0)
    return None if at == stop or moment == _ZERO_TIME else f"{moment.isoformat()}Z"


def micro_time(data: bytes, at: int, stop: int, depth: int) -> str | None:
    fields = _TIMESTAMP.read(data, at, stop, {}, depth + 1)
    moment = _moment(fields.get("seconds", 0), fields.get("nanos", 0))
    return None if at == stop or moment == _ZERO_TIME else f"{moment.isoformat(timespec='microseconds')}Z"


def _moment(seconds: int, nanos: int) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise Malformed(f"a time outside of the years 1 to 9999: {seconds} seconds since 1970") from None


def quantity(data: bytes, at: int, stop: int, depth: int) -> str:
    fields = _QUANTITY.read(data, at, stop, {}, depth + 1)
    try:
        return canonical_quantities.canonical(fields.get("string", "0"))
    except ValueError as error:
        raise Malformed(str(error)) from None


def int_or_string(data: bytes, at: int, stop: int, depth: int) -> int | str:
    fields = _INT_OR_STRING.read(data, at, stop, {}, depth + 1)
    kind = fields.get("type", 0)
    if kind not in (0, 1):
        raise Malformed("impossible IntOrString.Type")
    value: int | str = fields.get("strVal", "") if kind else fields.get("intVal", 0)
    return value


def held(data: bytes, at: int, stop: int, depth: int) -> bytes:
    """Read the bytes that a RawExtension, FieldsV1 or JSON holds."""
    raw: bytes = _HOLDER.read(data, at, stop, {}, depth + 1).get("raw", b"")
    return raw


def json(data: bytes, at: int, stop: int, depth: int) -> Any:
    """Read a message that holds JSON; without any it is null."""
    raw = held(data, at, stop, depth)
    return parsed(raw) if raw else None


def parsed(document: bytes) -> Any:
    try:
        return orjson.loads(document)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"invalid JSON: {error}") from None


_NUMBERS: Final[dict[str, Callable[[int], Any]]] = {"bool": bool, "int32": signed32, "int64": signed64}
_ZEROS: Final[dict[str, Any]] = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0, "bytes": None}

_META: Final = "apimachinery.pkg.apis.meta.v1"
_TYPE_META: Final = f"{_META}.TypeMeta"
_APIEXTENSIONS: Final = "apiextensions-apiserver.pkg.apis.apiextensions.v1"
_SCHEMA: Final = f"{_APIEXTENSIONS}.JSONSchemaProps"


def manifest(wrapper: Envelope, depth: int = 0) -> Manifest:
    """Decode an object; raises Malformed, IndexError where it ends too early, UnknownKind."""
    type_name = type_of(wrapper.group, wrapper.version, wrapper.kind)
    says_its_type = any(field.type == _TYPE_META for field in table().types[type_name])  # all but a WatchEvent do
    out: Manifest = {"apiVersion": wrapper.api_version, "kind": wrapper.kind} if says_its_type else {}
    return message(type_name).read(wrapper.raw, 0, len(wrapper.raw), out, depth)


def message(name: str) -> Message:
    """Return how to read a type; it is built when first needed, and before its fields, which may lead back to it."""
    reader = _built.get(name)
    if reader is None:
        reader = _built[name] = Message(name.rpartition(".")[2])
        for field in table().types[name]:
            _add(reader, field)
    return reader


_built: dict[str, Message] = {}


def _add(into: Message, field: TypeField) -> None:
    if not field.name:
        _add_inlined(into, field)
        return
    if field.type.startswith("[]"):
        _add_list(into, field.number, field.name, field.type[2:])
    elif field.type.startswith("{}"):
        into.add(field.number, field.name, wire_fields.entry(field.name, _reader(field.type[2:])))
    else:
        _add_single(into, field)
    if not _is_left_out(field):
        into.zeros.append((field.name, _zero(field.type)))


def _add_inlined(into: Message, field: TypeField) -> None:
    if not field.number:
        return  # TypeMeta, which is in the envelope
    inner = message(field.type)
    into.add(field.number, inner.name, wire_fields.inlined(inner))
    into.zeros += inner.zeros


def _add_list(into: Message, number: int, name: str, kind: str) -> None:
    if kind in _NUMBERS:
        into.add_number(number, name, wire_fields.number_item(name, _NUMBERS[kind]))
        into.add(number, name, wire_fields.packed_items(name, _NUMBERS[kind]))
    else:
        into.add(number, name, wire_fields.item(name, _reader(kind)))


def _add_single(into: Message, field: TypeField) -> None:
    kind = field.type.removeprefix("*")
    keeps = kind != field.type or not _is_left_out(field)
    if kind in _NUMBERS:
        into.add_number(field.number, field.name, wire_fields.number(field.name, _NUMBERS[kind], keeps=keeps))
    elif kind == "string":
        into.add(field.number, field.name, wire_fields.string(field.name, keeps=keeps))
    elif kind in table().types:
        into.add(field.number, field.name, wire_fields.inner(field.name, message(kind)))
    else:
        wire = FIXED64 if kind == "float64" else BYTES
        into.add(field.number, field.name, wire_fields.value(field.name, _reader(kind), keeps=keeps), wire)


def _is_left_out(field: TypeField) -> bool:
    """Tell whether a zero is not written; to Go, a struct is never empty."""
    return field.omits_zero or (field.omits_empty and _can_be_empty(field.type))


def _can_be_empty(kind: str) -> bool:
    return kind in _ZEROS or kind[0] in "*[{="


def _zero(kind: str) -> Callable[[], Any]:
    if not _can_be_empty(kind):
        return partial(_reader(kind), b"", 0, 0, 0)
    value = _ZEROS.get(kind)
    return lambda: value


def _reader(kind: str) -> Read:
    """Return the reader of a value that is no number."""
    if kind in _READERS:
        return _READERS[kind]
    if kind in _ALTERNATIVES:
        return _one_of(kind)
    if kind.startswith("=[]"):
        return _list_message(kind.removeprefix("=[]"))
    inner = message(kind)

    def read(data: bytes, at: int, stop: int, depth: int) -> Out:
        return inner.read(data, at, stop, {}, depth + 1)

    return read


def _list_message(kind: str) -> Read:
    """Return the reader of a list that is a message, whose one field has the items."""
    inner = Message("items")
    _add_list(inner, 1, "items", kind)

    def read(data: bytes, at: int, stop: int, depth: int) -> Any:
        return inner.read(data, at, stop, {}, depth + 1).get("items", [])

    return read


def _one_of(kind: str) -> Read:
    """Return the reader of a value that has one of two types."""
    fields, otherwise = _ALTERNATIVES[kind]
    inner = Message(kind.rpartition(".")[2])
    for field in sorted(fields, key=lambda field: field.number):
        _add(inner, field)

    def read(data: bytes, at: int, stop: int, depth: int) -> Any:
        values = inner.read(data, at, stop, {}, depth + 1)
        return next((values[field.name] for field in fields if field.name in values), otherwise)

    return read


def _raw_extension(data: bytes, at: int, stop: int, depth: int) -> Any:
    """Read an object within an object: JSON, or an envelope of its own."""
    raw = held(data, at, stop, depth)
    if raw.startswith(envelope.MAGIC):
        return manifest(envelope.opened(raw), depth + 1)
    return parsed(raw) if raw else None


_ALTERNATIVES: Final[dict[str, tuple[tuple[TypeField, TypeField], Any]]] = {
    f"{_SCHEMA}OrArray": (
        (TypeField("schemas", 2, f"[]{_SCHEMA}", "o"), TypeField("schema", 1, f"*{_SCHEMA}", "o")),
        None,
    ),
    f"{_SCHEMA}OrBool": ((TypeField("schema", 2, f"*{_SCHEMA}", "o"), TypeField("allows", 1, "bool", "o")), False),
    f"{_SCHEMA}OrStringArray": (
        (TypeField("property", 2, "[]string", "o"), TypeField("schema", 1, f"*{_SCHEMA}", "o")),
        None,
    ),
}
"""The types that a value may have, the first that is there counts; and the value where none is."""

_READERS: Final[dict[str, Read]] = {
    "string": wire_fields.text,
    "bytes": wire_fields.base64,
    "float64": wire_fields.double,
    f"{_META}.Time": time,
    f"{_META}.MicroTime": micro_time,
    f"{_META}.FieldsV1": json,
    "apimachinery.pkg.runtime.RawExtension": _raw_extension,
    "apimachinery.pkg.api.resource.Quantity": quantity,
    "apimachinery.pkg.util.intstr.IntOrString": int_or_string,
    f"{_APIEXTENSIONS}.JSON": json,
}

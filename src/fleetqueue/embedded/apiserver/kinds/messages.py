"""How the messages of built-in kinds become JSON, as the facts table tells.

Go writes a field that is absent on the wire as its zero, unless its tag says omitempty; and it leaves out a zero that
did travel, if its tag says so and the field is no pointer.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import envelope, wire_fields, wire_types, wire_values
from fleetqueue.embedded.apiserver.kinds.envelope import Envelope
from fleetqueue.embedded.apiserver.kinds.table import Field, table, type_of
from fleetqueue.embedded.apiserver.kinds.wire import BYTES, FIXED64, Message, Out, signed32, signed64
from fleetqueue.embedded.apiserver.kinds.wire_values import Read

_NUMBERS: Final[dict[str, Callable[[int], Any]]] = {"bool": bool, "int32": signed32, "int64": signed64}
_ZEROS: Final[dict[str, Any]] = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0, "bytes": None}

_META: Final = "apimachinery.pkg.apis.meta.v1"
_TYPE_META: Final = f"{_META}.TypeMeta"
_APIEXTENSIONS: Final = "apiextensions-apiserver.pkg.apis.apiextensions.v1"
_SCHEMA: Final = f"{_APIEXTENSIONS}.JSONSchemaProps"


def manifest(found: Envelope, depth: int = 0) -> Manifest:
    """Decode an object; raises Malformed, IndexError where it ends too early, UnknownKind."""
    type_name = type_of(found.group, found.version, found.kind)
    says_its_type = any(field.type == _TYPE_META for field in table().types[type_name])  # all but a WatchEvent do
    out: Manifest = {"apiVersion": found.api_version, "kind": found.kind} if says_its_type else {}
    return message(type_name).read(found.raw, 0, len(found.raw), out, depth)


def message(name: str) -> Message:
    """Return how to read a type; it is built when first asked for, and before its fields, which may lead back to it."""
    found = _built.get(name)
    if found is None:
        found = _built[name] = Message(name.rpartition(".")[2])
        for field in table().types[name]:
            _add(found, field)
    return found


_built: dict[str, Message] = {}


def _add(into: Message, field: Field) -> None:
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


def _add_inlined(into: Message, field: Field) -> None:
    if not field.number:
        return  # TypeMeta, which travels in the envelope
    inner = message(field.type)
    into.add(field.number, inner.name, wire_fields.inlined(inner))
    into.zeros += inner.zeros


def _add_list(into: Message, number: int, name: str, kind: str) -> None:
    if kind in _NUMBERS:
        into.add_number(number, name, wire_fields.number_item(name, _NUMBERS[kind]))
        into.add(number, name, wire_fields.packed_items(name, _NUMBERS[kind]))
    else:
        into.add(number, name, wire_fields.item(name, _reader(kind)))


def _add_single(into: Message, field: Field) -> None:
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


def _is_left_out(field: Field) -> bool:
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
        found = inner.read(data, at, stop, {}, depth + 1)
        return next((found[field.name] for field in fields if field.name in found), otherwise)

    return read


def _raw_extension(data: bytes, at: int, stop: int, depth: int) -> Any:
    """Read an object within an object: JSON, or an envelope of its own."""
    found = wire_types.held(data, at, stop, depth)
    if found.startswith(envelope.MAGIC):
        return manifest(envelope.opened(found), depth + 1)
    return wire_types.parsed(found) if found else None


_ALTERNATIVES: Final[dict[str, tuple[tuple[Field, Field], Any]]] = {
    f"{_SCHEMA}OrArray": ((Field("schemas", 2, f"[]{_SCHEMA}", "o"), Field("schema", 1, f"*{_SCHEMA}", "o")), None),
    f"{_SCHEMA}OrBool": ((Field("schema", 2, f"*{_SCHEMA}", "o"), Field("allows", 1, "bool", "o")), False),
    f"{_SCHEMA}OrStringArray": ((Field("property", 2, "[]string", "o"), Field("schema", 1, f"*{_SCHEMA}", "o")), None),
}
"""The types that a value may have, the first that is there counts; and the value where none is."""

_READERS: Final[dict[str, Read]] = {
    "string": wire_values.text,
    "bytes": wire_values.base64,
    "float64": wire_values.double,
    f"{_META}.Time": wire_types.time,
    f"{_META}.MicroTime": wire_types.micro_time,
    f"{_META}.FieldsV1": wire_types.json,
    "apimachinery.pkg.runtime.RawExtension": _raw_extension,
    "apimachinery.pkg.api.resource.Quantity": wire_types.quantity,
    "apimachinery.pkg.util.intstr.IntOrString": wire_types.int_or_string,
    f"{_APIEXTENSIONS}.JSON": wire_types.json,
}

"""The types that validation rules see: from the schema of a custom kind to those of the expression language."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fleetqueue.embedded.apiserver.kinds.schema import MAP, SET, Schema
from fleetqueue.embedded.apiserver.validation.cel import text_formats, types
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.types import Field, Type
from fleetqueue.embedded.apiserver.validation.correlation import is_described

_RESERVED = frozenset(
    "true false null in as break const continue else for function if import let loop package namespace return var void "
    "while".split()
)
_ESCAPED = re.compile(r"__|[-./]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_STRING = Schema(type="string")
_METADATA = Schema(type="object", properties={"name": _STRING, "generateName": _STRING})
_META = {"kind": _STRING, "apiVersion": _STRING, "metadata": _METADATA}


def escaped(name: str) -> str:
    """Return how a rule spells a field; empty for a name that no rule can spell."""
    if name in _RESERVED:
        return f"__{name}__"
    if not re.fullmatch(r"[A-Za-z_./-][A-Za-z0-9_./-]*", name):
        return ""
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], name)


def type_of(schema: Schema, *, is_object: bool = False) -> Type | None:
    """Return the type of values of a schema; None for what rules cannot see."""
    if schema.is_int_or_string:
        return types.DYN
    match schema.type:
        case "array":
            return _list_type(schema)
        case "object":
            return _object_type(schema, is_object or schema.is_embedded)
        case "string":
            return _FORMATTED.get(schema.format, types.STRING)
        case "boolean":
            return types.BOOL
        case "number":
            return types.DOUBLE
        case "integer":
            return types.INT
    return None


_FORMATTED = {"byte": types.BYTES, "duration": types.DURATION, "date": types.TIMESTAMP, "date-time": types.TIMESTAMP}


def _list_type(schema: Schema) -> Type | None:
    item = type_of(schema.items) if schema.items is not None else None
    if item is None:
        return None
    return types.list_of(item, schema.list_type if schema.list_type in (SET, MAP) else "", schema.list_keys)


def _object_type(schema: Schema, is_object: bool) -> Type | None:
    if schema.values is not None and is_described(schema.values):
        value = type_of(schema.values)
        return None if value is None else types.map_of(types.STRING, value)
    return types.object_of("object", Fields({**schema.properties, **_META} if is_object else schema.properties))


class Fields(Mapping[str, Field]):
    """The fields of an object under their escaped names, each made when a rule first uses it."""

    def __init__(self, properties: Mapping[str, Schema]) -> None:
        self.schemas = {spelled: (name, schema) for name, schema in properties.items() if (spelled := escaped(name))}
        self.made: dict[str, Field | None] = {}

    def __getitem__(self, spelled: str) -> Field:
        if spelled in _RESERVED:
            spelled = f"__{spelled}__"  # after a dot a reserved word can only be a field
        if spelled not in self.made:
            name, schema = self.schemas[spelled]
            described = type_of(schema)
            self.made[spelled] = None if described is None else Field(described, name, converter(schema))
        field = self.made[spelled]
        if field is None:
            raise KeyError(spelled)
        return field

    def __iter__(self) -> Iterator[str]:
        return (spelled for spelled in self.schemas if spelled in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def converter(schema: Schema) -> Callable[[Any], Any] | None:
    """Return what turns JSON into a value of the rule's type; None where that is the JSON itself."""
    if schema.is_int_or_string:
        return None
    if schema.type == "number":
        return float
    if schema.type == "string":
        return _READERS.get(schema.format)
    if schema.type == "array" and schema.items is not None:
        item = _nullable(schema.items)
        return None if item is None else lambda values: [item(value) for value in values]
    if schema.type == "object" and schema.values is not None:
        convert = _nullable(schema.values)
        return None if convert is None else lambda values: {name: convert(value) for name, value in values.items()}
    return None


def _nullable(schema: Schema) -> Callable[[Any], Any] | None:
    convert = converter(schema)
    return None if convert is None else lambda value: None if value is None else convert(value)


def _reader(read: Callable[[str], Any], what: str) -> Callable[[str], Any]:
    def value_of(text: str) -> Any:
        if not isinstance(text, str):
            raise CelError("invalid data, expected string")
        try:
            return read(text)
        except CelError as error:
            raise CelError(f"Invalid {what} {text}: {error}") from None

    return value_of


_READERS: dict[str, Callable[[str], Any]] = {
    "byte": _reader(text_formats.parsed_bytes, "byte formatted string"),
    "duration": _reader(text_formats.parsed_duration, "duration"),
    "date": _reader(text_formats.parsed_date, "date formatted string"),
    "date-time": _reader(text_formats.parsed_datetime, "date-time formatted string"),
}

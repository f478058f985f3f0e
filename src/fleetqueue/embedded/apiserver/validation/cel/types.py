"""The types that the checker gives to expressions.

A type says how a value is held at run time: a described object is the plain dict of its fields, and only its type knows
which of them are times or numbers. What loses its type (`dyn`) is wrapped first: see `values.Struct`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    kind: str
    params: "tuple[Type, ...]" = ()
    name: str = ""
    """What an opaque type, an object or a type variable is called."""
    fields: "Mapping[str, Field]" = field(default_factory=dict)
    """The fields of an object, under their escaped names."""
    list_type: str = ""
    """set or map: a list that is compared and added without regard to order."""
    list_keys: Sequence[str] = ()

    def __str__(self) -> str:
        if self.kind in ("object", "param"):
            return self.name
        if self.kind == "error":
            return "!error!"
        inner = f"({', '.join(map(str, self.params))})" if self.params else ""
        return (self.name or self.kind) + inner

    @property
    def is_dyn(self) -> bool:
        return self.kind in ("dyn", "error")


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field of an object: its type, its name in the object, and how its JSON becomes a value (None: as it is)."""

    type: Type
    name: str
    convert: Callable[[Any], Any] | None = None


DYN = Type("dyn")
ERROR = Type("error")
NULL = Type("null")
BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
TIMESTAMP = Type("timestamp")
DURATION = Type("duration")
TYPE = Type("type")
A = Type("param", name="A")
B = Type("param", name="B")


def list_of(item: Type, list_type: str = "", list_keys: Sequence[str] = ()) -> Type:
    return Type("list", (item,), list_type=list_type, list_keys=list_keys)


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def opaque(name: str, *params: Type) -> Type:
    return Type("opaque", params, name)


def optional_of(inner: Type) -> Type:
    return opaque("optional_type", inner)


def type_of(inner: Type) -> Type:
    return Type("type", (inner,))


def object_of(name: str, fields: Mapping[str, Field]) -> Type:
    return Type("object", name=name, fields=fields)


def is_optional(candidate: Type) -> bool:
    return candidate.kind == "opaque" and candidate.name == "optional_type"


def unwrapped(candidate: Type) -> Type:
    """Return what an optional holds; any other type as it is."""
    return candidate.params[0] if is_optional(candidate) else candidate


def same(one: Type, other: Type) -> bool:
    """Whether two types are exactly the same."""
    if one is other:
        return True
    if one.kind != other.kind or one.name != other.name or len(one.params) != len(other.params):
        return False
    if one.kind == "object":
        return one.fields is other.fields
    return all(map(same, one.params, other.params))


def is_less_specific(one: Type, other: Type) -> bool:
    """Whether the first type is the second one, or that with `dyn` in some places."""
    if one.is_dyn or one.kind == "param":
        return True
    if other.is_dyn or other.kind == "param" or one.kind != other.kind or one.name != other.name:
        return False
    if one.kind in ("opaque", "list", "map"):
        return all(map(is_less_specific, one.params, other.params))
    return one.kind == "type" or same(one, other)

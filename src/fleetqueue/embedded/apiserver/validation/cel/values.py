"""How values of expressions are held, where Python has no type of its own for them.

int, double, string, bytes, bool, null, list and map are int, float, str, bytes, bool, None, list and dict.
"""

from collections.abc import Iterator
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel.errors import CelError, no_such_overload
from fleetqueue.embedded.apiserver.validation.cel.types import Type


class Uint(int):
    """An unsigned integer."""


class Span:
    """An amount of time on a scale of nanoseconds."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and type(other) is type(self) and other.nanos == self.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __lt__(self, other: "Span") -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: "Span") -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: "Span") -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: "Span") -> bool:
        return self.nanos >= other.nanos


class Timestamp(Span):
    """A moment, counted from 1970 in UTC; it is shown by the clock that it was read from."""

    __slots__ = ("offset",)

    def __init__(self, nanos: int, offset: int = 0) -> None:
        super().__init__(nanos)
        self.offset = offset


class Duration(Span):
    """A length of time."""


class Optional:
    """A value or nothing."""

    __slots__ = ("content",)

    def __init__(self, content: Any) -> None:
        self.content = content

    @property
    def is_present(self) -> bool:
        return self.content is not _NOTHING

    @property
    def value(self) -> Any:
        if self.content is _NOTHING:
            raise CelError("optional.none() dereference")
        return self.content


_NOTHING = object()
NONE = Optional(_NOTHING)


class Struct:
    """A described object that lost its static type: it carries the type itself."""

    __slots__ = ("raw", "type")

    def __init__(self, raw: dict[str, Any], described: Type) -> None:
        self.raw = raw
        self.type = described

    def __contains__(self, name: Any) -> bool:
        field = self.type.fields.get(name) if type(name) is str else None
        return field is not None and self.raw.get(field.name) is not None

    def __getitem__(self, name: Any) -> Any:
        if name not in self:
            raise KeyError(name)
        field = self.type.fields[name]
        value = self.raw[field.name]
        return untyped(field.type, field.convert(value) if field.convert else value)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.type.fields if name in self)

    def __len__(self) -> int:
        return len(self.raw)


_KINDS: dict[type, str] = {
    bool: "bool", int: "int", Uint: "uint", float: "double", str: "string", bytes: "bytes", list: "list", dict: "map",
    type(None): "null", Timestamp: "timestamp", Duration: "duration", Optional: "optional_type", Struct: "map",
    Type: "type",
}  # fmt: skip


def kind_of(value: Any) -> str:
    """Name the type of a value at run time."""
    return _KINDS.get(type(value)) or str(getattr(value, "type_name", type(value).__name__))


def untyped(described: Type, value: Any) -> Any:
    """Wrap what the static type alone knew, for use as `dyn`."""
    if described.kind == "object":
        return Struct(value, described) if isinstance(value, dict) else value
    if described.kind == "list" and holds_objects(described):
        return [untyped(described.params[0], item) for item in value]
    if described.kind == "map" and holds_objects(described):
        return {key: untyped(described.params[1], item) for key, item in value.items()}
    if described.kind == "opaque" and holds_objects(described) and value.is_present:
        return Optional(untyped(described.params[0], value.content))
    return value


def holds_objects(described: Type) -> bool:
    return described.kind == "object" or any(map(holds_objects, described.params))


def equal(one: Any, other: Any) -> bool:
    """Compare two values of any types; different types differ, except for numbers."""
    kind, other_kind = kind_of(one), kind_of(other)
    if kind != other_kind:
        return {kind, other_kind} <= {"int", "uint", "double"} and one == other
    if kind == "list":
        return len(one) == len(other) and all(map(equal, one, other))
    if kind == "map":
        return len(one) == len(other) and all(key in other and equal(one[key], other[key]) for key in one)
    if kind == "optional_type":
        if one.is_present and other.is_present:
            return equal(one.content, other.content)
        return bool(one.is_present == other.is_present)
    if kind == "type":
        return str(one) == str(other) or one.kind == other.kind
    return bool(one == other)


_NUMBERS = frozenset({"int", "uint", "double"})
_ORDERED = frozenset({"bool", "string", "bytes", "timestamp", "duration"})


def comparable(one: Any, other: Any) -> bool:
    """Whether two values have an order; raises where a double is no number."""
    kind, other_kind = kind_of(one), kind_of(other)
    if kind in _NUMBERS and other_kind in _NUMBERS:
        if one != one or other != other:
            raise CelError("NaN values cannot be ordered")
        return True
    return kind == other_kind and kind in _ORDERED


def ordered(one: Any, other: Any) -> tuple[Any, Any]:
    """Return both values, if they can be compared."""
    if not comparable(one, other):
        raise no_such_overload()
    return one, other

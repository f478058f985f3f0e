"""Bring objects of built-in kinds into the form that a real server gives them: read into Go's types, and written again.

Fields that the type does not have are dropped and reported; empty ones go where Go leaves them out, and others come
where Go always writes them (`status: {}`). Values get their one form (`0.5` of cpu is `500m`). What is not changed is
shared with the object that came in: an object that is in order already is returned itself.

Readers of types are built from the facts table when they are first needed, for all servers of the process.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import facts, json_values
from fleetqueue.embedded.apiserver.kinds.json_values import Illegal, Mismatch, Unreadable
from fleetqueue.embedded.apiserver.kinds.table import TypeField, table

MOST_TOLD: Final = 100
_META: Final = "apimachinery.pkg.apis.meta.v1"
_TYPE_META: Final = f"{_META}.TypeMeta"
_QUANTITY: Final = "apimachinery.pkg.api.resource.Quantity"
_APIEXTENSIONS: Final = "apiextensions-apiserver.pkg.apis.apiextensions.v1"
_SCALARS: Final[Mapping[str, json_values.Read]] = {
    "string": json_values.text,
    "bool": json_values.boolean,
    "int32": json_values.integer(32),
    "int64": json_values.integer(64),
    "float64": json_values.floating,
    "bytes": json_values.octets,
    f"{_META}.Time": json_values.time,
    f"{_META}.MicroTime": json_values.micro_time,
    _QUANTITY: json_values.quantity,
    "apimachinery.pkg.util.intstr.IntOrString": json_values.int_or_string,
    f"{_META}.FieldsV1": json_values.anything,
    "apimachinery.pkg.runtime.RawExtension": json_values.anything,
    f"{_APIEXTENSIONS}.JSON": json_values.anything,
    **{
        f"{_APIEXTENSIONS}.JSONSchemaPropsOr{other}": json_values.anything for other in ("Array", "Bool", "StringArray")
    },
}
_NO_FIELDS: Final[Mapping[str, Any]] = {}
_ABSENT: Final = object()
"""What a field becomes that is not written."""

Where = tuple[Any, str | int, str] | None
"""The way to a value: the way before it; a field, a key or an index; the Go struct whose field it is. So it costs next
to nothing until something is wrong."""


class Notes:
    """What is found on the way through one object."""

    __slots__ = ("mismatch", "unknown")

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.mismatch = ""
        """What is wrong with the first value after which Go reads on, and tells it at the end."""

    def tell_unknown(self, where: Where, name: str) -> None:
        path = _path(where)
        if len(self.unknown) < MOST_TOLD:
            self.unknown.append(f"{path}.{name}" if path else name)

    def tell_mismatch(self, error: Mismatch, where: Where) -> None:
        self.mismatch = self.mismatch or _told(error, where)


def _told(error: Mismatch, where: Where) -> str:
    struct, fields = _go_path(where)
    into = f"Go struct field {struct}.{fields}" if struct else "Go value"
    return f"json: cannot unmarshal {error.found} into {into} of type {error.wanted}"


Reader = Callable[[Any, Where, Notes, Any], Any]
"""From a value, the way to it, the notes, and a value in order of which it may have kept parts, or None."""


def normalised(obj: Manifest, known: Manifest | None = None, *, type_name: str) -> tuple[Manifest, list[str]]:
    """Return an object in order, and the paths of the fields that it may not have; raises Unreadable.

    Parts that are the very ones of `known`, an object in order, at the same place are not looked at.
    """
    notes = Notes()
    after: Manifest = _struct(type_name).read(obj, None, notes, known)
    if notes.mismatch:
        raise Unreadable(notes.mismatch)
    return after, notes.unknown


def empty_object(type_name: str) -> Manifest:
    """Return what Go writes of an object in which nothing is set, such as `{"spec": {"containers": None}}`."""
    return _struct(type_name).zero()


def empty_field(type_name: str, name: str) -> Any:
    """Return what Go writes into a field of an empty object, such as `{}` for a status; None where it writes none."""
    return _struct(type_name).zero().get(name)


class _Property(NamedTuple):
    scalar: type | None
    """The Python type of a value that is in order at once, unless it is empty and then left out."""
    keeps_empty: bool
    read: Reader


class _Struct:
    """How to read one of Go's structs; its properties are filled last, since a type may lead back to itself."""

    __slots__ = ("always", "name", "properties", "short_name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.short_name = name.rpartition(".")[2]
        self.properties: dict[str, _Property] = {}
        self.always: list[tuple[str, str]] = []
        """The fields that are written even if they are empty, with their types."""

    def read(self, value: Any, where: Where, notes: Notes, known: Any = None) -> Any:
        if type(value) is not dict:
            return self._without(value, where, notes)
        made: dict[str, Any] | None = None
        properties, struct = self.properties, self.short_name
        known = known if type(known) is dict else _NO_FIELDS
        for name, item in value.items():
            field = properties.get(name)
            if field is None:
                notes.tell_unknown(where, name)
                new = _ABSENT
            else:
                scalar, keeps_empty, read = field
                if type(item) is scalar and (item or keeps_empty):
                    continue
                previous = known.get(name, _ABSENT)
                if item is previous:
                    continue
                new = read(item, (where, name, struct), notes, previous)
                if new is item:
                    continue
            if made is None:
                made = dict(value)
            if new is _ABSENT:
                del made[name]
            else:
                made[name] = new
        for name, kind in self.always:
            if name not in value:
                made = dict(value) if made is None else made
                made[name] = _zero(kind)
        return value if made is None else made

    def _without(self, value: Any, where: Where, notes: Notes) -> Any:
        if value is not None:
            notes.tell_mismatch(Mismatch(value, _go_type(self.name)), where)
        return self.zero()

    def zero(self) -> dict[str, Any]:
        return {name: _zero(kind) for name, kind in self.always}


_built: dict[str, _Struct] = {}


def _struct(name: str) -> _Struct:
    struct = _built.get(name)
    if struct is None:
        struct = _built[name] = _Struct(name)
        for field in facts.flat_fields(name):
            struct.properties[field.name] = _property(field)
            if not _is_left_out(field):
                struct.always.append((field.name, field.type))
        for inner in table().types[name]:
            if not inner.name and inner.type != _TYPE_META:
                short = inner.type.rpartition(".")[2]
                _inlined.update(
                    {(struct.short_name, field.name): f"{short}." for field in facts.flat_fields(inner.type)}
                )
    return struct


_inlined: dict[tuple[str, str], str] = {}
"""The fields of a struct that come from another one which Go names on the way, such as VolumeSource."""


_PYTHON: Final[Mapping[str, type]] = {"string": str, "bool": bool}


def _property(field: TypeField) -> _Property:
    kind = field.type.removeprefix("*")
    is_left_out = _is_left_out(field)
    read = _reader(kind, field.details.go_type)
    if kind != field.type:
        read = _nullable(read, keeps_null=not field.omits_empty)
    elif kind[0] in "[{=" or is_left_out:
        read = _unless_empty(read, _ABSENT if is_left_out else None)
    return _Property(_PYTHON.get(kind), kind != field.type or not is_left_out, read)


def _nullable(read: Reader, *, keeps_null: bool) -> Reader:
    """Return the reader of a pointer, to which null is nothing."""
    nothing = None if keeps_null else _ABSENT

    def of_pointer(value: Any, where: Where, notes: Notes, known: Any) -> Any:
        return nothing if value is None else read(value, where, notes, known)

    return of_pointer


def _unless_empty(read: Reader, empty: Any) -> Reader:
    """Return the reader of what does not survive empty; a list or map neither is written nor stored as such."""

    def of_value(value: Any, where: Where, notes: Notes, known: Any) -> Any:
        return read(value, where, notes, known) or empty

    return of_value


def _reader(kind: str, named: str = "") -> Reader:
    """Return the reader of a type, whose name in Go is given if that is not the usual one."""
    kind = kind.removeprefix("=")
    if kind.startswith("[]"):
        return _list_reader(kind[2:], named)
    if kind.startswith("{}"):
        return _map_reader(kind[2:], named)
    scalar = _SCALARS.get(kind)
    if scalar is None:
        return _struct(kind).read
    return _own_reader(scalar) if "." in kind else _scalar_reader(scalar, named)


def _own_reader(read: json_values.Read) -> Reader:
    """Return the reader of a type that reads its own JSON: after what it cannot read, Go reads no further."""

    def of_value(value: Any, where: Where, notes: Notes, known: Any) -> Any:
        try:
            return read(value)
        except Mismatch as error:
            raise Unreadable(_told(error, where)) from None

    return of_value


def _scalar_reader(read: json_values.Read, named: str) -> Reader:
    def of_scalar(value: Any, where: Where, notes: Notes, known: Any) -> Any:
        try:
            return read(value)
        except Mismatch as error:
            error.wanted = named or error.wanted
            notes.tell_mismatch(error, where)
        except Illegal as error:
            notes.mismatch = notes.mismatch or str(error)
        return value

    return of_scalar


def _list_reader(kind: str, named: str) -> Reader:
    read_item = _reader(kind, named[2:] if named.startswith("[]") else "")
    wanted, scalar = named or f"[]{_go_type(kind)}", _PYTHON.get(kind)

    def read(value: Any, where: Where, notes: Notes, known: Any) -> Any:
        if type(value) is not list:
            return _no_collection(value, wanted, where, notes)
        made: list[Any] | None = None
        known = known if type(known) is list else ()
        for position, item in enumerate(value):
            if type(item) is scalar:
                continue
            previous = known[position] if position < len(known) else _ABSENT
            if item is previous:
                continue
            new = read_item(item, (where, position, ""), notes, previous)
            if new is not item:
                made = list(value) if made is None else made
                made[position] = new
        return value if made is None else made

    return read


def _map_reader(kind: str, named: str) -> Reader:
    read_item = _reader(kind, named.partition("]")[2] if named.startswith("map[") else "")
    wanted, scalar = named or f"map[string]{_go_type(kind)}", _PYTHON.get(kind)
    if kind == "bytes":
        read_item = _unless_empty(read_item, "")

    def read(value: Any, where: Where, notes: Notes, known: Any) -> Any:
        if type(value) is not dict:
            return _no_collection(value, wanted, where, notes)
        made: dict[str, Any] | None = None
        known = known if type(known) is dict else _NO_FIELDS
        for key, item in value.items():
            if type(item) is scalar:
                continue
            previous = known.get(key, _ABSENT)
            if item is previous:
                continue
            new = read_item(item, (where, key, ""), notes, previous)
            if new is not item:
                made = dict(value) if made is None else made
                made[key] = new
        return value if made is None else made

    return read


def _no_collection(value: Any, wanted: str, where: Where, notes: Notes) -> None:
    if value is not None:
        notes.tell_mismatch(Mismatch(value, wanted), where)


def _is_left_out(field: TypeField) -> bool:
    """Tell whether an empty value is not written; to Go, a struct is never empty."""
    return field.omits_zero or (field.omits_empty and _can_be_empty(field.type))


def _can_be_empty(kind: str) -> bool:
    return kind in ("string", "bool", "int32", "int64", "float64", "bytes") or kind[0] in "*[{="


def _zero(kind: str) -> Any:
    if kind[0] in "*[{=" or kind == "bytes":
        return None
    if kind in _SCALARS:
        return _SCALARS[kind](None)
    return _struct(kind).zero()


def _go_type(kind: str) -> str:
    kind = kind.removeprefix("*").removeprefix("=")
    if kind.startswith("[]"):
        return f"[]{_go_type(kind[2:])}"
    if kind.startswith("{}"):
        return f"map[string]{_go_type(kind[2:])}"
    if "." not in kind:
        return "[]uint8" if kind == "bytes" else kind
    return ".".join(kind.split(".")[-2:])


def _steps(where: Where) -> list[tuple[str | int, str]]:
    steps: list[tuple[str | int, str]] = []
    while where is not None:
        before, step, struct = where
        steps.append((step, struct))
        where = before
    return steps[::-1]


def _path(where: Where) -> str:
    return "".join(f"[{step}]" if type(step) is int else f".{step}" for step, _ in _steps(where)).removeprefix(".")


def _go_path(where: Where) -> tuple[str, str]:
    """Return the innermost struct and the fields that lead into it, as Go names them."""
    fields = [(_inlined.get((struct, str(step)), "") + str(step), struct) for step, struct in _steps(where) if struct]
    return (fields[-1][1] if fields else ""), ".".join(field for field, _ in fields)

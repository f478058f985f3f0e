"""Fields and items: how `a.b`, `has(a.b)`, `a.?b` and `a[b]` are found at run time."""

from collections.abc import Callable
from typing import Any

from fleetqueue.embedded.apiserver.kinds.go_text import number
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError, no_such_overload
from fleetqueue.embedded.apiserver.validation.cel.nodes import Select
from fleetqueue.embedded.apiserver.validation.cel.types import Field, is_optional
from fleetqueue.embedded.apiserver.validation.cel.values import NONE, Optional, Struct

Run = Callable[[list[Any]], Any]
_MISSING = object()


def of_variable(node: Select, slot: int) -> Run:
    """Select a field of an object that a variable holds: the most frequent case, with one call less."""
    if node.is_optional:
        return of_value(node, lambda frame: frame[slot])
    field = node.operand.type.fields[node.field]
    name, convert, shown = field.name, field.convert, node.field

    def test(frame: list[Any]) -> bool:
        try:
            return frame[slot].get(name) is not None
        except AttributeError:
            raise _no_object(frame[slot]) from None

    def select(frame: list[Any]) -> Any:
        try:
            value = frame[slot].get(name)
        except AttributeError:
            raise _no_object(frame[slot]) from None
        if value is None:
            raise CelError(f"no such key: {shown}")
        return value if convert is None else convert(value)

    return test if node.is_test else select


def _no_object(value: Any) -> CelError:
    """Say why a value has no fields: it is null, or was stored before its schema was."""
    if value is None:
        return no_such_overload()
    return CelError("invalid data, expected a map for the provided schema with type=object")


def of_value(node: Select, operand: Run) -> Run:
    """Select a field of whatever an expression yields."""
    if is_optional(node.operand.type) or node.is_optional:
        return _optional(node, operand)
    if node.operand.type.kind == "object":
        field = node.operand.type.fields[node.field]
        return _test_object(operand, field) if node.is_test else _of_object(operand, field, node.field)
    return _test_dyn(operand, node.field) if node.is_test else _of_dyn(operand, node.field)


def _of_object(operand: Run, field: Field, shown: str) -> Run:
    name, convert = field.name, field.convert

    def select(frame: list[Any]) -> Any:
        holder = operand(frame)
        try:
            value = holder.get(name)
        except AttributeError:
            raise _no_object(holder) from None
        if value is None:
            raise CelError(f"no such key: {shown}")
        return value if convert is None else convert(value)

    return select


def _test_object(operand: Run, field: Field) -> Run:
    name = field.name

    def test(frame: list[Any]) -> bool:
        holder = operand(frame)
        try:
            return holder.get(name) is not None
        except AttributeError:
            raise _no_object(holder) from None

    return test


def _found(holder: Any, name: str) -> Any:
    if isinstance(holder, (dict, Struct)):
        return holder[name] if name in holder else _MISSING
    raise CelError(f"no such key: {name}")


def _of_dyn(operand: Run, name: str) -> Run:
    def select(frame: list[Any]) -> Any:
        holder = operand(frame)
        if isinstance(holder, Optional):
            return _inside(holder, name)
        value = _found(holder, name)
        if value is _MISSING:
            raise CelError(f"no such key: {name}")
        return value

    return select


def _test_dyn(operand: Run, name: str) -> Run:
    def test(frame: list[Any]) -> bool:
        holder = operand(frame)
        if isinstance(holder, Optional):
            return _inside(holder, name).is_present
        return _found(holder, name) is not _MISSING

    return test


def _inside(holder: Optional, name: str) -> Optional:
    if not holder.is_present:
        return NONE
    value = _found(holder.content, name)
    return NONE if value is _MISSING else Optional(value)


def _optional(node: Select, operand: Run) -> Run:
    """Select into an optional, or as one; a missing field is nothing rather than an error."""
    inner = node.operand.type.params[0] if is_optional(node.operand.type) else node.operand.type
    field = inner.fields.get(node.field)
    name, shown, is_test = (field.name if field else node.field), node.field, node.is_test

    def select(frame: list[Any]) -> Any:
        holder = operand(frame)
        if isinstance(holder, Optional):
            if not holder.is_present:
                return False if is_test else NONE
            holder = holder.content
        if field is None:
            value = _found(holder, shown)
        else:
            value = holder.get(name)
            value = _MISSING if value is None else field.convert(value) if field.convert else value
        if is_test:
            return value is not _MISSING
        return NONE if value is _MISSING else Optional(value)

    return select


def item(holder: Run, index: Run, kind: str) -> Run:
    """Find an item of a list or map whose static type is known."""

    def of_list(frame: list[Any]) -> Any:
        return at_position(holder(frame), index(frame))

    def of_map(frame: list[Any]) -> Any:
        return at_key(holder(frame), index(frame))

    return of_list if kind == "list" else of_map


def at_position(items: Any, position: Any) -> Any:
    if isinstance(position, float) and position.is_integer():
        position = int(position)
    if not isinstance(position, int) or isinstance(position, bool):
        raise CelError(f"unsupported index type '{type(position).__name__}' in list")
    if not 0 <= position < len(items):
        raise CelError(f"index out of bounds: {position}")
    return items[position]


def at_key(entries: Any, key: Any) -> Any:
    try:
        return entries[key]
    except (KeyError, TypeError):
        shown = number(key) if isinstance(key, (bool, float)) else key
        raise CelError(f"no such key: {shown}") from None

"""Lists that are sets or maps: no value, and no key, may occur twice."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from fleetqueue.embedded.apiserver.kinds.causes import Cause, duplicate, invalid_value
from fleetqueue.embedded.apiserver.kinds.go_text import json_text
from fleetqueue.embedded.apiserver.kinds.schema import ATOMIC, MAP, SET, Schema

_NOTHING: Final[dict[str, Any]] = {}


def has_duplicates(value: Any, schema: Schema, before: Any = None) -> bool:
    """Whether anything occurs twice; quicker than saying what and where.

    Args:
        before: a value without any, of which the value may have kept parts.
    """
    if type(value) is list:
        return _list_has_duplicates(value, schema, before if type(before) is list else ())
    properties, values = schema.properties, schema.values
    before = before if type(before) is dict else _NOTHING
    for name, item in value.items():
        if type(item) is dict or type(item) is list:
            child, previous = properties.get(name) or values, before.get(name)
            if child is not None and item is not previous and has_duplicates(item, child, previous):
                return True
    return False


def _list_has_duplicates(value: list[Any], schema: Schema, before: Sequence[Any]) -> bool:
    is_open = schema.list_type != ATOMIC and not _differ(value, schema)
    if is_open and next(_of_list(value, schema, ""), None) is not None:
        return True
    items = schema.items
    if items is not None:
        for position, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                previous = before[position] if position < len(before) else None
                if item is not previous and has_duplicates(item, items, previous):
                    return True
    return False


def _differ(value: list[Any], schema: Schema) -> bool:
    """Tell of most lists without doubles, quickly, that they have none: of those whose one key is a text."""
    if len(schema.list_keys) != 1 or schema.list_type != MAP:
        return False
    (name,) = schema.list_keys
    keys = [item.get(name) if type(item) is dict else None for item in value]
    return all(type(key) is str for key in keys) and len({*keys}) == len(keys)


def duplicates(value: Any, schema: Schema, path: str = "") -> Iterator[Cause]:
    """Find what occurs twice, in the value and in all below it."""
    if type(value) is dict:
        for name, item in value.items():
            child = schema.properties.get(name)
            if type(item) is not dict and type(item) is not list:
                continue
            if child is not None:
                yield from duplicates(item, child, f"{path}.{name}" if path else name)
            elif schema.values is not None:
                yield from duplicates(item, schema.values, f"{path}[{name}]")
    elif type(value) is list:
        if len(value) > 1 or schema.list_type == MAP:
            yield from _of_list(value, schema, path)
        if schema.items is not None:
            for position, item in enumerate(value):
                yield from duplicates(item, schema.items, f"{path}[{position}]")


def _of_list(value: list[Any], schema: Schema, path: str) -> Iterator[Cause]:
    if schema.list_type == SET:
        for position in _repeated(value):
            yield duplicate(f"{path}[{position}]", value[position])
    elif schema.list_type == MAP:
        for position, item in enumerate(value):
            if item is not None and type(item) is not dict:
                yield invalid_value(f"{path}[{position}]", item, "must be an object for an array of list-type map")
                return
        keys = [{name: item[name] for name in schema.list_keys if name in item} if item else {} for item in value]
        for position in _repeated(keys):
            yield duplicate(f"{path}[{position}]", keys[position])


def _repeated(values: list[Any]) -> list[int]:
    """Return the places where a value stands for the second time."""
    times: dict[Any, int] = {}
    places = []
    for position, value in enumerate(values):
        key = _hashable(value)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            places.append(position)
    return places


def _hashable(value: Any) -> Any:
    if type(value) is dict and len(value) == 1:
        ((name, item),) = value.items()
        if type(item) is str:
            return name, item
    if isinstance(value, (dict, list)):
        return json_text(value)
    return type(value), value

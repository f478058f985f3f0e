"""Lists that are sets or maps: no value, and no key, may occur twice."""

from collections.abc import Iterator
from typing import Any

from fleetqueue.apiserver.kinds.causes import Cause, duplicate, invalid_value
from fleetqueue.apiserver.kinds.go_text import json_text
from fleetqueue.apiserver.kinds.schema import ATOMIC, MAP, SET, Schema


def has_duplicates(value: Any, schema: Schema) -> bool:
    """Whether anything occurs twice; quicker than saying what and where."""
    if type(value) is dict:
        properties, values = schema.properties, schema.values
        for name, item in value.items():
            if type(item) is dict or type(item) is list:
                child = properties.get(name) or values
                if child is not None and has_duplicates(item, child):
                    return True
        return False
    items = schema.items
    if schema.list_type != ATOMIC and next(_of_list(value, schema, ""), None) is not None:
        return True
    if items is not None:
        for item in value:
            if (type(item) is dict or type(item) is list) and has_duplicates(item, items):
                return True
    return False


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

"""Fill in the defaults of a schema, without touching the object that came in."""

from functools import lru_cache
from typing import Any

from msgspec import UNSET

from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.validation.known_parts import KnownParts


def with_defaults(obj: dict[str, Any], schema: Schema, whole: KnownParts | None = None) -> dict[str, Any]:
    """Return the object with defaults: the same object if nothing changes.

    A null where the schema allows none becomes the default. Defaults are filled into objects that are there, and into
    defaults themselves; they are shared, not copied: nobody changes a stored object.

    Args:
        whole: fields of objects of this schema that lack nothing; gets those that are found to.
    """
    if not has_defaults(schema):
        return obj
    return _filled_dict(obj, schema, whole)


def _filled(value: Any, schema: Schema) -> Any:
    if not has_defaults(schema):
        return value
    if type(value) is dict:
        return _filled_dict(value, schema)
    if type(value) is list and schema.items is not None:
        return _filled_list(value, schema.items)
    return value


def _filled_dict(value: dict[str, Any], schema: Schema, whole: KnownParts | None = None) -> dict[str, Any]:
    made: dict[str, Any] | None = None
    properties, values = schema.properties, schema.values
    for name, item in value.items():
        child = properties.get(name) or values
        if child is None or (whole is not None and whole.has(name, item)):
            continue
        new = _filled_item(item, child)
        if new is item and whole is not None and type(item) is dict:
            whole.add(name, item)
        if new is not item:
            made = made if made is not None else dict(value)
            made[name] = new
    for name, child in defaulted(schema):
        if name not in (value if made is None else made):
            made = made if made is not None else dict(value)
            made[name] = _filled(child.default, child)
    return value if made is None else made


def _filled_list(value: list[Any], items: Schema) -> list[Any]:
    made: list[Any] | None = None
    for position, item in enumerate(value):
        new = _filled_item(item, items)
        if new is not item:
            made = made or list(value)
            made[position] = new
    return value if made is None else made


def _filled_item(item: Any, schema: Schema) -> Any:
    if type(item) is dict or type(item) is list:
        return _filled(item, schema)
    if item is None and not schema.is_nullable and schema.default is not UNSET:
        return _filled(schema.default, schema)
    return item


@lru_cache(maxsize=100_000)
def defaulted(schema: Schema) -> tuple[tuple[str, Schema], ...]:
    """Return the fields of a schema that have defaults."""
    return tuple((name, child) for name, child in schema.properties.items() if child.default is not UNSET)


@lru_cache(maxsize=100_000)
def has_defaults(schema: Schema) -> bool:
    """Whether there are defaults here or below."""
    below = [*schema.properties.values(), *(child for child in (schema.values, schema.items) if child is not None)]
    return schema.default is not UNSET or any(map(has_defaults, below))

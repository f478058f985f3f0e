"""Fill in the defaults of a schema, without touching the object that came in."""

from functools import lru_cache
from typing import Any

from msgspec import UNSET

from fleetqueue.apiserver.kinds.schema import Schema


def with_defaults(obj: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the object with defaults, and without nulls that may not stand: the same object if nothing changes.

    A null where the schema allows none becomes the default, or goes away if there is none. Defaults are filled into
    objects that are there, and into defaults themselves; they are shared, not copied: nobody changes a stored object.
    """
    filled: dict[str, Any] = _filled(obj, schema)
    return filled


def _filled(value: Any, schema: Schema) -> Any:
    if type(value) is dict:
        return _filled_dict(value, schema)
    if type(value) is list and schema.items is not None and may_change(schema.items):
        return _filled_list(value, schema.items)
    return value


def _filled_dict(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    made: dict[str, Any] | None = None
    properties, values = schema.properties, schema.values
    for name, item in value.items():
        child = properties.get(name) or values
        if child is None:
            continue
        if item is None:
            if child.is_nullable:
                continue
            made = made if made is not None else dict(value)
            if child.default is UNSET:
                del made[name]
            else:
                made[name] = _filled(child.default, child)
        elif type(item) is dict or type(item) is list:
            new = _filled(item, child)
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
        new = _filled(items.default, items) if item is None and _replaces_null(items) else _filled(item, items)
        if new is not item:
            made = made or list(value)
            made[position] = new
    return value if made is None else made


def _replaces_null(schema: Schema) -> bool:
    return not schema.is_nullable and schema.default is not UNSET


@lru_cache(maxsize=100_000)
def defaulted(schema: Schema) -> tuple[tuple[str, Schema], ...]:
    """Return the fields of a schema that have defaults."""
    return tuple((name, child) for name, child in schema.properties.items() if child.default is not UNSET)


@lru_cache(maxsize=100_000)
def may_change(schema: Schema) -> bool:
    """Whether values of this schema can hold something to fill in at all; scalars without default cannot."""
    return (
        schema.default is not UNSET or bool(schema.properties) or schema.values is not None or schema.items is not None
    )

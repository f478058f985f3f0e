"""Changes to objects that leave the originals alone, and return them where nothing changes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fleetqueue.api.scheme import Manifest


def filled(obj: Manifest, defaults: Mapping[str, Any]) -> Manifest:
    """Return the object with the defaults of the fields that it has not."""
    missing = [name for name in defaults if name not in obj]
    return {**obj, **{name: defaults[name] for name in missing}} if missing else obj


def within(obj: Manifest, field: str, change: Callable[[Any], Any]) -> Manifest:
    """Change what stands in a field, if something does."""
    value = obj.get(field)
    if value is None:
        return obj
    after = change(value)
    return obj if after is value else {**obj, field: after}


def each(items: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    """Change the items of a list."""
    after = [change(item) for item in items]
    return items if all(new is old for new, old in zip(after, items, strict=True)) else after


def each_within(obj: Manifest, field: str, change: Callable[[Any], Any]) -> Manifest:
    """Change the items of the list in a field."""
    return within(obj, field, lambda items: each(items, change))


def without(obj: Manifest, *fields: str) -> Manifest:
    if not any(field in obj for field in fields):
        return obj
    return {name: value for name, value in obj.items() if name not in fields}


def with_field_of(obj: Manifest, field: str, other: Manifest) -> Manifest:
    """Return the object with a field as another has it, also if it has none."""
    if obj.get(field) is other.get(field) and (field in obj) == (field in other):
        return obj
    return {**without(obj, field), field: other[field]} if field in other else without(obj, field)


def at(obj: Any, path: Sequence[str]) -> Any:
    """Return what stands at a path; None where the way ends before."""
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj

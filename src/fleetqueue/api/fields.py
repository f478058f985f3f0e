"""Read and replace one field of an object, by the way to it. What is returned shares all else with the object."""

from typing import Any

from fleetqueue.api.scheme import Manifest

Field = tuple[str | int, ...]
"""The way to a field: names of members and positions in lists."""


def value_at(obj: Any, field: Field) -> Any:
    """Return what a field holds; None where it, or something on the way to it, is not there."""
    for step in field:
        if isinstance(step, int):
            if not isinstance(obj, list) or not -len(obj) <= step < len(obj):
                return None
            obj = obj[step]
        elif isinstance(obj, dict):
            obj = obj.get(step)
        else:
            return None
    return obj


def with_value(obj: Manifest, field: Field, value: Any) -> Manifest:
    """Return an object with another value in a field; what is missing on the way to it is made."""
    return _replaced(obj, field, value)  # type: ignore[no-any-return]  # the outermost is an object


def without_field(obj: Manifest, field: Field) -> Manifest:
    """Return an object without a field, and with all that was around it."""
    *way, last = field
    around = value_at(obj, tuple(way))
    if not isinstance(around, dict) or last not in around:
        return obj
    rest = {name: value for name, value in around.items() if name != last}
    return with_value(obj, tuple(way), rest)


def dotted(field: Field) -> str:
    """Write a field as Kubernetes names it: `spec.runPolicy.suspend`, `spec.parts[0]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in field)
    return text.removeprefix(".")


def _replaced(obj: Any, field: Field, value: Any) -> Any:
    if not field:
        return value
    step, rest = field[0], field[1:]
    if isinstance(step, int):
        return [_replaced(item, rest, value) if place == step else item for place, item in enumerate(obj)]
    known = obj or {}
    return {**known, step: _replaced(known.get(step), rest, value)}

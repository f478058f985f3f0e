"""Compare, and add, two values of one static type as the real server does it with what the schema describes.

Equal JSON is equal. Different JSON may still be: times written differently, or sets and maps in another order.
"""

from collections.abc import Callable
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel.types import Type

Compare = Callable[[Any, Any], bool]


def comparison(described: Type) -> Compare:
    """Return a function that compares two values of this type; looks into the type only when the JSON differs."""
    deep: list[Compare] = []

    def compare(one: Any, other: Any) -> bool:
        if one == other:
            return True
        if not deep:
            deep.append(_deep(described) or _never)
        return deep[0](one, other)

    return compare


def _never(one: Any, other: Any) -> bool:
    return False


def _deep(described: Type) -> Compare | None:
    """Return how to compare values whose JSON differs; None where that settles it."""
    match described.kind:
        case "list":
            return _of_list(described)
        case "map":
            return _of_map(described)
        case "object":
            return _of_object(described)
    return None


def _of_list(described: Type) -> Compare | None:
    item = _deep(described.params[0])
    if described.list_type == "set":
        return lambda one, other: len(one) == len(other) and all(value in one for value in other)
    if described.list_type == "map":
        return _of_keyed(described, item or _never)
    if item is None:
        return None
    return lambda one, other: (
        len(one) == len(other) and all(x == y or item(x, y) for x, y in zip(one, other, strict=True))
    )


def _of_keyed(described: Type, item: Compare) -> Compare:
    keys = described.list_keys

    def compare(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
        if len(one) != len(other):
            return False
        mine = {tuple(map(value.get, keys)): value for value in one}
        for value in other:
            match = mine.get(tuple(map(value.get, keys)))
            if match is None or not (match == value or item(match, value)):
                return False
        return True

    return compare


def _of_map(described: Type) -> Compare | None:
    value = _deep(described.params[1])
    if value is None:
        return None
    return lambda one, other: (
        one.keys() == other.keys() and all(one[key] == other[key] or value(one[key], other[key]) for key in one)
    )


def _of_object(described: Type) -> Compare | None:
    special: dict[str, tuple[Compare, Callable[[Any], Any] | None]] = {}
    for field in described.fields.values():
        inner = _deep(field.type)
        if field.convert is not None or inner is not None:
            special[field.name] = inner or _never, field.convert
    if not special:
        return None

    def compare(one: dict[str, Any], other: dict[str, Any]) -> bool:
        if one.keys() != other.keys():
            return False
        return all(one[name] == other[name] or field_equal(name, one[name], other[name]) for name in one)

    def field_equal(name: str, one: Any, other: Any) -> bool:
        if name not in special or one is None or other is None:
            return False
        inner, convert = special[name]
        if convert is not None:
            one, other = convert(one), convert(other)
        return bool(one == other) or inner(one, other)

    return compare


def union_of(described: Type) -> Callable[[list[Any], list[Any]], list[Any]]:
    """Return what adds to a list that is a set or a map: what is there stays in its place, new items come after it."""
    if described.list_type == "set":
        return lambda one, other: [*one, *(item for item in dict.fromkeys(other) if item not in one)]
    keys = described.list_keys

    def merged(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> list[dict[str, Any]]:
        by_key = {tuple(map(item.get, keys)): item for item in one}
        return list((by_key | {tuple(map(item.get, keys)): item for item in other}).values())

    return merged

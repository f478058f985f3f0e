"""The functions on lists that Kubernetes offers to expressions, and those on lists as sets."""

from functools import cmp_to_key, reduce
from itertools import pairwise
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel import numbers, times
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError
from fleetqueue.embedded.apiserver.validation.cel.functions import Library
from fleetqueue.embedded.apiserver.validation.cel.loops import compared
from fleetqueue.embedded.apiserver.validation.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    A,
    list_of,
)
from fleetqueue.embedded.apiserver.validation.cel.values import equal

library = Library()
_LIST = list_of(A)
_ORDERED = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)


def _length(items: Any, *rest: Any) -> int:
    return len(items)


def _squared(*lists: Any) -> int:
    return reduce(lambda product, items: product * len(items), lists, 1)


def _is_sorted(items: list[Any]) -> bool:
    return all(compared(one, other) <= 0 for one, other in pairwise(items))


def _extreme(name: str, sign: int) -> Any:
    def find(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        return reduce(lambda best, item: item if compared(item, best) * sign > 0 else best, items)

    return find


_lowest, _highest = _extreme("min", -1), _extreme("max", 1)


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=cmp_to_key(compared))


for _kind in _ORDERED:
    library.method("isSorted", list_of(_kind), result=BOOL, cost=_length)(_is_sorted)
    library.method("min", list_of(_kind), result=_kind, cost=_length)(_lowest)
    library.method("max", list_of(_kind), result=_kind, cost=_length)(_highest)
    library.method("sort", list_of(_kind), result=list_of(_kind), cost=_length)(_sorted)

library.method("sum", list_of(INT), result=INT, cost=_length)(lambda items: numbers.checked_int(sum(items)))
library.method("sum", list_of(UINT), result=UINT, cost=_length)(lambda items: numbers.checked_uint(sum(items)))
library.method("sum", list_of(DOUBLE), result=DOUBLE, cost=_length)(lambda items: float(sum(items)))
library.method("sum", list_of(DURATION), result=DURATION, cost=_length)(
    lambda items: times.checked_duration(sum(item.nanos for item in items))
)
library.method("reverse", _LIST, result=_LIST, cost=_length)(lambda items: items[::-1])


@library.method("indexOf", _LIST, A, result=INT, cost=_length)
def index_of(items: list[Any], wanted: Any) -> int:
    return next((position for position, item in enumerate(items) if equal(item, wanted)), -1)


@library.method("lastIndexOf", _LIST, A, result=INT, cost=_length)
def last_index_of(items: list[Any], wanted: Any) -> int:
    return next((position for position in reversed(range(len(items))) if equal(items[position], wanted)), -1)


@library.method("distinct", _LIST, result=_LIST, cost=lambda items: len(items) ** 2)
def distinct(items: list[Any]) -> list[Any]:
    unique_items: list[Any] = []
    for item in items:
        if not any(equal(item, other) for other in unique_items):
            unique_items.append(item)
    return unique_items


@library.method("slice", _LIST, INT, INT, result=_LIST, cost=_length)
def sliced(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


@library.method("flatten", list_of(_LIST), result=_LIST, cost=_length)
@library.method("flatten", list_of(DYN), INT, result=list_of(DYN), cost=_length)
def flattened(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat_items: list[Any] = []
    for item in items:
        if not isinstance(item, list):
            flat_items.append(item)
        elif depth > 0:
            flat_items.extend(flattened(item, depth - 1))
        else:
            flat_items.append(item)
    return flat_items


@library.function("lists.range", INT, result=list_of(INT), cost=lambda count: max(count, 0))
def up_to(count: int) -> list[int]:
    return list(range(count))


@library.function("sets.contains", _LIST, _LIST, result=BOOL, cost=_squared)
def contains(items: list[Any], wanted: list[Any]) -> bool:
    return all(any(equal(element, item) for item in items) for element in wanted)


@library.function("sets.equivalent", _LIST, _LIST, result=BOOL, cost=_squared)
def equivalent(one: list[Any], other: list[Any]) -> bool:
    return contains(one, other) and contains(other, one)


@library.function("sets.intersects", _LIST, _LIST, result=BOOL, cost=_squared)
def intersects(one: list[Any], other: list[Any]) -> bool:
    return any(equal(element, item) for item in one for element in other)

"""The macros that visit items: what each makes of a condition and a result."""

from collections.abc import Callable, Iterator
from functools import cmp_to_key
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel.errors import CelError, CostExceeded, no_such_overload
from fleetqueue.embedded.apiserver.validation.cel.types import Type
from fleetqueue.embedded.apiserver.validation.cel.values import Struct, ordered

Run = Callable[[list[Any]], Any]
Visits = Callable[[list[Any]], Iterator[Any]]


def visits(source: Run, ranged: Type, slots: list[int], steps: int) -> Visits:
    """Return what puts one item after the other into the loop's slots, counting the work, and yields it."""
    if len(slots) == 2:
        return _pairs(source, slots, steps)
    slot = slots[0]
    is_list = ranged.kind == "list"

    def visit(frame: list[Any]) -> Iterator[Any]:
        items = source(frame)
        if not isinstance(items, list) and (is_list or not isinstance(items, (dict, Struct))):
            raise _no_list() if is_list else no_such_overload()
        for item in items:
            frame[0] -= steps
            if frame[0] < 0:
                raise CostExceeded
            frame[slot] = item
            yield item

    return visit


def _no_list() -> CelError:
    return CelError("invalid data, expected an array for the provided schema with type=array")


def _pairs(source: Run, slots: list[int], steps: int) -> Visits:
    first, second = slots

    def visit(frame: list[Any]) -> Iterator[Any]:
        items = source(frame)
        if isinstance(items, list):
            pairs: Any = enumerate(items)
        elif isinstance(items, dict):
            pairs = items.items()
        elif isinstance(items, Struct):
            pairs = ((key, items[key]) for key in items)
        else:
            raise no_such_overload()
        for key, item in pairs:
            frame[0] -= steps
            if frame[0] < 0:
                raise CostExceeded
            frame[first], frame[second] = key, item
            yield key

    return visit


def compiled(macro: str, items: Visits, slots: list[int], condition: Run | None, result: Run | None) -> Run:
    """Return the function of one macro."""
    match macro:
        case "all":
            return _until(items, condition, False)
        case "exists":
            return _until(items, condition, True)
        case "exists_one":
            return lambda frame: sum(1 for _ in items(frame) if condition(frame)) == 1  # type: ignore[misc]
        case "filter":
            return lambda frame: [item for item in items(frame) if condition(frame)]  # type: ignore[misc]
        case "map" | "transformList":
            return _mapped(items, condition, result)
        case "transformMap":
            return _keyed(items, condition, result)
        case "transformMapEntry":
            return _entries(items, condition, result)
    return _sorted(items, result)


def _until(items: Visits, condition: Any, deciding: bool) -> Run:
    """`all` and `exists`: one item can decide; an error counts only if none does."""

    def run(frame: list[Any]) -> bool:
        failed: CelError | None = None
        for _ in items(frame):
            try:
                holds: bool = condition(frame)
                if holds is deciding:
                    return deciding
            except CelError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return not deciding

    return run


def _mapped(items: Visits, condition: Run | None, result: Any) -> Run:
    if condition is None:
        return lambda frame: [result(frame) for _ in items(frame)]
    return lambda frame: [result(frame) for _ in items(frame) if condition(frame)]


def _keyed(items: Visits, condition: Run | None, result: Any) -> Run:
    if condition is None:
        return lambda frame: {key: result(frame) for key in items(frame)}
    return lambda frame: {key: result(frame) for key in items(frame) if condition(frame)}


def _entries(items: Visits, condition: Run | None, result: Any) -> Run:
    def run(frame: list[Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for _ in items(frame):
            if condition is not None and not condition(frame):
                continue
            for key, value in result(frame).items():
                if key in made:
                    raise CelError(f"insert failed: key {key} already exists")
                made[key] = value
        return made

    return run


def _sorted(items: Visits, result: Any) -> Run:
    def run(frame: list[Any]) -> list[Any]:
        pairs: list[tuple[Any, Any]] = [(result(frame), item) for item in items(frame)]

        def order(one: tuple[Any, Any], other: tuple[Any, Any]) -> int:
            return compared(one[0], other[0])

        return [item for _, item in sorted(pairs, key=cmp_to_key(order))]

    return run


def compared(one: Any, other: Any) -> int:
    """Order two values as sort() and sortBy() do; raises where they have no order."""
    one, other = ordered(one, other)
    return int(one > other) - int(one < other)

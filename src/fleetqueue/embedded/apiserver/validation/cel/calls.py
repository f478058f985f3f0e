"""How calls run: the logical operators with their way with errors, and functions by their overloads."""

from collections.abc import Callable
from typing import Any

from fleetqueue.embedded.apiserver.validation.cel import literals, optionals
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError, CostExceeded, no_such_overload
from fleetqueue.embedded.apiserver.validation.cel.functions import Overload
from fleetqueue.embedded.apiserver.validation.cel.values import NONE, Optional, kind_of

Frame = list[Any]
Run = Callable[[Frame], Any]


def constant(value: Any) -> Run:
    return lambda frame: value


def both(left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Any:
        try:
            if not left(frame):
                return False
        except CelError as error:
            if not _absorbs(right, frame, False):
                raise error
            return False
        return right(frame)

    return run


def either(left: Run, right: Run) -> Run:
    def run(frame: Frame) -> Any:
        try:
            if left(frame):
                return True
        except CelError as error:
            if not _absorbs(right, frame, True):
                raise error
            return True
        return right(frame)

    return run


def _absorbs(right: Run, frame: Frame, deciding: bool) -> bool:
    """Whether the other side decides alone, so that an error does not matter."""
    try:
        return right(frame) is deciding
    except CelError:
        return False


def direct(overload: Overload, runs: list[Run]) -> Run:
    function, cost = overload.run, overload.cost

    def call(frame: Frame) -> Any:
        args = [run(frame) for run in runs]
        if cost is not None:
            _charge(frame, cost(*args))
        try:
            return function(*args)
        except (TypeError, AttributeError):
            raise no_such_overload() from None  # a null where the static type promised a value

    return call


def or_else(optional: Run, other: Run, *, unwraps: bool) -> Run:
    """Return what an optional holds, or the optional itself, or else what is only then worked out."""

    def run(frame: Frame) -> Any:
        value = optional(frame)
        if not isinstance(value, Optional):
            raise no_such_overload()
        if not value.is_present:
            return other(frame)
        return value.content if unwraps else value

    return run


def optional_item(optional: Run, index: Run) -> Run:
    """Return an item of what an optional holds; where it holds nothing, the index is not worked out."""

    def run(frame: Frame) -> Any:
        value = optional(frame)
        return NONE if value is NONE else optionals.at(value, index(frame))

    return run


_CONVERSIONS = frozenset({"int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration"})


def _failure(name: str, args: list[Any]) -> CelError:
    if "_" in name or "@" in name:
        return no_such_overload()
    if name not in _CONVERSIONS:
        return CelError(f"no such overload: {name}")
    kinds = ("null_type" if kind == "null" else kind for kind in map(kind_of, args))
    return CelError(f"no such overload: {name}({', '.join(kinds)})")


def dispatched(name: str, overloads: list[Overload], runs: list[Run]) -> Run:
    def call(frame: Frame) -> Any:
        args = [run(frame) for run in runs]
        for overload in overloads:
            if all(map(literals.accepts, overload.params, args)):
                if overload.cost is not None:
                    _charge(frame, overload.cost(*args))
                return overload.run(*args)
        raise _failure(name, args)

    return call


def _charge(frame: Frame, cost: int) -> None:
    frame[0] -= cost
    if frame[0] < 0:
        raise CostExceeded

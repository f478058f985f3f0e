"""How calls run: the logical operators with their way with errors, and functions by their overloads."""

from collections.abc import Callable
from typing import Any

from fleetqueue.apiserver.validation.cel import literals
from fleetqueue.apiserver.validation.cel.errors import CelError, CostExceeded, no_such_overload
from fleetqueue.apiserver.validation.cel.functions import Overload

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


def dispatched(name: str, overloads: list[Overload], runs: list[Run]) -> Run:
    failure = "no such overload" if "_" in name or "@" in name else f"no such overload: {name}"

    def call(frame: Frame) -> Any:
        args = [run(frame) for run in runs]
        for overload in overloads:
            if all(map(literals.accepts, overload.params, args)):
                if overload.cost is not None:
                    _charge(frame, overload.cost(*args))
                return overload.run(*args)
        raise CelError(failure)

    return call


def _charge(frame: Frame, cost: int) -> None:
    frame[0] -= cost
    if frame[0] < 0:
        raise CostExceeded

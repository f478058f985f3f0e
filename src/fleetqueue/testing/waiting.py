"""How tests say times, and what they wait for."""

from collections.abc import Callable
from typing import Generic, TypeVar

from fleetqueue.rules.run_times import duration

T = TypeVar("T")


def seconds_of(time: float | str) -> float:
    """Read seconds, or `90s`, `3h`, `1h30m`."""
    seconds = duration(time) if isinstance(time, str) else time
    if seconds is None:
        raise ValueError(f"{time!r} is no time: write it as 90s, 3h or 1h30m")
    return seconds


class Look(Generic[T]):
    """Asks again and again whether something holds. What is not there yet, an object or a field, does not hold."""

    said: T

    def __init__(self, check: Callable[[], T]) -> None:
        self._check = check
        self._answer = ""

    def __call__(self) -> bool:
        try:
            self.said = self._check()
        except (LookupError, TypeError, AttributeError, StopIteration) as error:
            self._answer = f"{type(error).__name__}: {error}"
            return False
        self._answer = repr(self.said)
        return bool(self.said)

    def why_not(self, within: float | str) -> str:
        time = within if isinstance(within, str) else f"{within:g} s"
        return f"it does not hold within {time}; the last answer was {self._answer}"

"""How long changes are remembered for watches and for the later pages of lists."""

from collections import deque
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Retention:
    seconds: float = 600.0
    """How old a change may get. Reflectors ask again within 10 minutes; with less, those that were cut off relist."""
    events: int = 100_000
    """How many changes are remembered at most: it bounds the memory of a busy cluster."""


DEFAULT: Final = Retention()


class Ages:
    """Knows roughly when each revision came to be, from one mark in each tenth of the time to remember.

    It errs on the side of remembering: a change counts as being as young as the first mark behind it.
    """

    def __init__(self, retention: Retention) -> None:
        self._retention = retention
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, now: float, revision: int) -> bool:
        """Note the newest revision; False if the last mark is too young for another."""
        if self._marks and now < self._marks[-1][0] + self._retention.seconds / 10:
            return False
        self._marks.append((now, revision))
        return True

    def outdated(self, now: float) -> int:
        """Return the revision up to which all changes are old enough to be forgotten; 0 if none are."""
        revision = 0
        while self._marks and self._marks[0][0] <= now - self._retention.seconds:
            revision = self._marks.popleft()[1]
        return revision

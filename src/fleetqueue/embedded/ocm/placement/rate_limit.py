"""Limit how often the decisions of one Placement change.

There are Placements that chase themselves: with a negative weight of Steady a cluster loses by being chosen. OCM's
client writes fifty times a second at most. Without a limit, one such Placement would keep a whole process busy.
"""

from typing import Final

from fleetqueue import clock

BURST: Final = 100
PER_SECOND: Final = 50.0


class RateLimit:
    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}
        """From a Placement to how many changes it may still make, and when that was so."""

    def wait(self, placement: str) -> float:
        """Return for how many seconds a Placement must rest."""
        return max(1 - self._allowance(placement), 0.0) / PER_SECOND

    def changed(self, placement: str) -> None:
        self._left[placement] = (self._allowance(placement) - 1, clock.monotonic())

    def forget(self, placement: str) -> None:
        self._left.pop(placement, None)

    def _allowance(self, placement: str) -> float:
        left, since = self._left.get(placement, (BURST, 0.0))
        return min(left + (clock.monotonic() - since) * PER_SECOND, BURST)

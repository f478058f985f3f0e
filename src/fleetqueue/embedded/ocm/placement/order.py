"""Clusters in the order of their scores, kept right while single scores change."""

from bisect import bisect_left, insort
from collections.abc import Mapping, Set
from typing import Final

MANY: Final = 8
"""Where more than one in so many changed, sorting anew is quicker than moving each."""


class Order:
    """Best first; of equal scores, by name."""

    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._sorted: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._totals)

    def __contains__(self, name: str) -> bool:
        return name in self._totals

    def total(self, name: str) -> int:
        return self._totals[name]

    def totals(self) -> Mapping[str, int]:
        return self._totals

    def first(self, number: int | None) -> list[str]:
        """Return the best ones; all of them for None."""
        return [name for _, name in self._sorted[:number]]

    def update(self, gone: Set[str], totals: Mapping[str, int]) -> None:
        """Take out who is gone, and give others their totals."""
        gone = self._totals.keys() & gone
        changed = {name: total for name, total in totals.items() if self._totals.get(name) != total}
        if (len(gone) + len(changed)) * MANY > len(self._totals):
            self._sort_anew(gone, changed)
            return
        for name in gone:
            self._take_out(name)
        for name, total in changed.items():
            self._take_out(name)
            self._totals[name] = total
            insort(self._sorted, (-total, name))

    def _sort_anew(self, gone: Set[str], changed: Mapping[str, int]) -> None:
        for name in gone:
            del self._totals[name]
        self._totals.update(changed)
        self._sorted = sorted((-total, name) for name, total in self._totals.items())

    def _take_out(self, name: str) -> None:
        total = self._totals.pop(name, None)
        if total is not None:
            del self._sorted[bisect_left(self._sorted, (-total, name))]

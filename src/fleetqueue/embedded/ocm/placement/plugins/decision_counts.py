"""How often each cluster is chosen by all Placements of a hub: what Balance counts.

Every Placement leaves its own decisions out, so that each sees other numbers. What changed is kept in a log: who
remembers up to where it was read learns whose count is another now, without counting anew.
"""

from collections import Counter as Counts
from collections.abc import Iterable
from typing import Final, TypeVar

SLACK: Final = 1000
"""A log so much longer than there are clusters is cut: counting anew is then as cheap as reading it."""

K = TypeVar("K")


class DecisionCounts:
    def __init__(self) -> None:
        self._decisions: dict[str, tuple[str, Counts[str]]] = {}
        """From each PlacementDecision to its Placement and its clusters."""
        self._counts: Counts[str] = Counts()
        self._own: dict[str, Counts[str]] = {}
        self._clusters_by_count: Counts[int] = Counts()
        self._log: list[str] = []
        self._dropped = 0

    def put(self, decision: str, placement: str, clusters: Iterable[str]) -> None:
        """Take what a PlacementDecision says now; the Placement is a key, or empty for a decision of none."""
        before, listed = self._decisions.get(decision, (placement, Counts()))
        if before != placement:
            self.remove(decision)
            listed = Counts()
        now = Counts(clusters)
        self._decisions[decision] = (placement, now)
        self._change(placement, listed, now)

    def remove(self, decision: str) -> None:
        placement, listed = self._decisions.pop(decision, ("", Counts()))
        self._change(placement, listed, Counts())

    def of(self, placement: str) -> Counts[str]:
        """Return the clusters in one Placement's decisions; not to be changed."""
        return self._own.get(placement, _NONE)

    def count(self, name: str, *, besides: str) -> int:
        """Return how often a cluster is chosen by other Placements."""
        return self._counts[name] - self.of(besides)[name]

    def highest(self, *, besides: str) -> int:
        """Return the count of the cluster that other Placements chose most often."""
        own = self.of(besides)
        shrunk = Counts(self._counts[name] for name in own)
        rest = max((self._counts[name] - own[name] for name in own), default=0)
        whole = (count for count, clusters in self._clusters_by_count.items() if clusters > shrunk[count])
        return max(rest, max(whole, default=0))

    @property
    def position(self) -> int:
        """Where the log ends now."""
        return self._dropped + len(self._log)

    def changed_since(self, position: int) -> list[str] | None:
        """Return whose count changed, some perhaps more than once; None where the log is too short to tell."""
        return self._log[position - self._dropped :] if position >= self._dropped else None

    def _change(self, placement: str, before: Counts[str], now: Counts[str]) -> None:
        if before == now:
            return
        own = self._own.setdefault(placement, Counts())
        for name in before.keys() | now.keys():
            step = now[name] - before[name]
            if step:
                _add(own, name, step)
                _add(self._clusters_by_count, self._counts[name], -1)
                _add(self._counts, name, step)
                _add(self._clusters_by_count, self._counts[name], 1)
                self._log.append(name)
        if not own:
            del self._own[placement]
        self._cut()

    def _cut(self) -> None:
        if len(self._log) > 2 * (len(self._counts) + SLACK):
            half = len(self._log) // 2
            del self._log[:half]
            self._dropped += half


_NONE: Final[Counts[str]] = Counts()


def _add(counter: Counts[K], key: K, step: int) -> None:
    """Count, and keep no zeros: clusters come and go for ever."""
    counter[key] += step
    if counter[key] <= 0:
        del counter[key]

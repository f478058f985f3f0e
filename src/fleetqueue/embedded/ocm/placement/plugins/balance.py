"""Balance: a cluster that other Placements chose seldom scores high.

Mirrors: OCM pkg/placement/plugins/balance
"""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api.cluster_v1 import SCORE_MAX
from fleetqueue.embedded.ocm.placement.plugins.interface import Facts, Prioritizer

BALANCE: Final = "Balance"


class Balance(Prioritizer):
    name = BALANCE

    def __init__(self, facts: Facts) -> None:
        self._tally = facts.tally
        self._placement = facts.placement
        self._highest = 0
        self._position = -1

    def moved(self) -> Iterable[str] | None:
        """Return all where the highest count is another: every score is a share of it."""
        changed = self._tally.changed_since(self._position)
        if changed == []:
            return ()
        self._position = self._tally.position
        before, self._highest = self._highest, self._tally.highest(besides=self._placement)
        return changed if before == self._highest else None

    def score(self, name: str) -> int:
        return balance_score(self._tally.count(name, besides=self._placement), self._highest)


def balance_score(count: int, highest: int) -> int:
    """Return 100 for a cluster that nobody chose, -100 for the one that was chosen most often."""
    if count == 0:
        return SCORE_MAX
    # In this order and cut to an integer before it is doubled, as upstream does: 2 of 5 gives 18, not 20.
    return 2 * int(SCORE_MAX * (0.5 - count / highest))

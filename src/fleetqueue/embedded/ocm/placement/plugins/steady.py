"""Steady: a cluster that is chosen already scores high, so that decisions do not move without need.

Mirrors: OCM pkg/placement/plugins/steady
"""

from typing import Final

from fleetqueue.api.cluster_v1 import SCORE_MAX
from fleetqueue.embedded.ocm.placement.plugins.interface import Facts, Prioritizer

STEADY: Final = "Steady"


class Steady(Prioritizer):
    """Who enters or leaves the decisions is judged again anyway: see `ranking`."""

    name = STEADY

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def score(self, name: str) -> int:
        return SCORE_MAX if name in self._facts.tally.of(self._facts.placement) else 0

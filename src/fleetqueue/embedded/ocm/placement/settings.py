"""What can be set about placement."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    resync: float = 600.0
    """Seconds after which a Placement is looked at even if nothing woke it. What other Placements choose changes its
    Balance scores but wakes nobody, or Placements would chase each other for ever; OCM looks as seldom."""

"""What can be set about placement."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    resync: float = 600.0
    """Seconds after which a Placement is looked at even if nothing woke it. What other Placements choose changes its
    Balance scores but enqueues nobody, or Placements would change decisions in turn for ever; OCM looks as seldom."""

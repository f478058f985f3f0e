"""What filters and prioritizers share: what they may look at, and how a prioritizer follows what changes.

A prioritizer is asked for one cluster at a time, so that a change of one cluster costs the work of one. Where a score
depends on other clusters too, `moved` tells whose score is another now.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from fleetqueue.api.cluster_v1 import AddOnPlacementScore, ManagedCluster
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.placement.plugins.decision_counts import DecisionCounts


class Facts(Protocol):
    """The hub as one Placement sees it now."""

    @property
    def placement(self) -> str:
        """The key of the Placement."""
        ...

    @property
    def decision_counts(self) -> DecisionCounts:
        """What all Placements decided, this one among them."""
        ...

    def cluster(self, name: str) -> ManagedCluster | None: ...

    def raw_cluster(self, name: str) -> Manifest:
        """Return a cluster with every field that it has; only for one that exists."""
        ...

    def score(self, cluster: str, resource: str) -> AddOnPlacementScore | None: ...


class Misconfigured(Exception):
    """What a Placement asks for cannot be done; only a change of it can help."""

    def __init__(self, plugin: str, message: str) -> None:
        super().__init__(f"{plugin}:{message}")


class Prioritizer:
    """Gives every cluster that passed the filters a score."""

    name: str

    def enter(self, cluster: ManagedCluster, now: datetime) -> None:
        """Take a cluster that passed the filters: one that is new here, or has changed."""

    def leave(self, name: str) -> None:
        """Forget a cluster; one that never entered will do."""

    def moved(self) -> Iterable[str] | None:
        """Return whose score is another since the last time, though they themselves did not change; None for all."""
        return ()

    def score(self, name: str) -> int:
        """Return the score of a cluster that entered."""
        raise NotImplementedError

    def until(self, name: str) -> datetime | None:
        """Return up to when that score holds; None: until something changes."""
        return None

    @property
    def warning(self) -> str:
        """What the event of a decision warns of; empty where all is well."""
        return ""

"""How the scores of a cluster changed while somebody looked."""

from collections import deque
from typing import Final

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.dashboard.fleet_rows import CLUSTER_SCORES
from fleetqueue.dashboard.rows import Row

MOST_POINTS: Final = 60
"""Of each score. A score that changes with every report of its agent, once a minute, is seen for an hour."""


class ScoreHistory:
    def __init__(self) -> None:
        self._points: dict[str, dict[str, deque[tuple[float, int]]]] = {}

    def note(self, score: cluster.AddOnPlacementScore, moment: float) -> None:
        """Keep what a cluster's scores are from this moment on; only changes are kept."""
        points = self._points.setdefault(score.namespace, {})
        for resource, name in CLUSTER_SCORES.items():
            value, line = score.value(name), points.setdefault(resource, deque(maxlen=MOST_POINTS))
            if value is not None and (not line or line[-1][1] != value):
                line.append((round(moment, 1), value))

    def forget(self, cluster_name: str) -> None:
        self._points.pop(cluster_name, None)

    def of(self, cluster_name: str) -> Row:
        """Return the points of each resource that has any, the oldest first."""
        points = self._points.get(cluster_name, {})
        return {resource: list(line) for resource, line in points.items() if line}

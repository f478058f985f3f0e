"""The hub as one Placement sees it, from the caches of a controller, or from listed objects."""

from collections.abc import Iterable, Mapping

from fleetqueue.api.cluster_v1 import AddOnPlacementScore, ManagedCluster, PlacementDecision
from fleetqueue.api.meta import key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.placement.plugins.decision_counts import DecisionCounts
from fleetqueue.runtime.cluster import Cluster


class CachedFacts:
    """What a controller's caches show."""

    def __init__(self, hub: Cluster, placement: str, decision_counts: DecisionCounts) -> None:
        self.placement = placement
        self.decision_counts = decision_counts
        self._clusters = hub.informer(ManagedCluster).store
        self._scores = hub.informer(AddOnPlacementScore).store

    def cluster(self, name: str) -> ManagedCluster | None:
        return self._clusters.get(name)

    def raw_cluster(self, name: str) -> Manifest:
        return self._clusters.raw(name) or {"metadata": {"name": name}}

    def score(self, cluster: str, resource: str) -> AddOnPlacementScore | None:
        return self._scores.get(key_of(cluster, resource))


class ListedFacts:
    """What was listed."""

    def __init__(
        self,
        placement: str,
        clusters: Iterable[Manifest],
        scores: Iterable[Manifest] = (),
        decisions: Iterable[Manifest] = (),
    ) -> None:
        self.placement = placement
        self.decision_counts = DecisionCounts()
        self._raw: Mapping[str, Manifest] = {raw["metadata"]["name"]: raw for raw in clusters}
        self._clusters = {name: ManagedCluster.view(raw) for name, raw in self._raw.items()}
        self._scores = {score.key: score for score in map(AddOnPlacementScore.view, scores)}
        for decision in map(PlacementDecision.view, decisions):
            count(self.decision_counts, decision)

    @property
    def names(self) -> Iterable[str]:
        return self._clusters

    def cluster(self, name: str) -> ManagedCluster | None:
        return self._clusters.get(name)

    def raw_cluster(self, name: str) -> Manifest:
        return self._raw[name]

    def score(self, cluster: str, resource: str) -> AddOnPlacementScore | None:
        return self._scores.get(key_of(cluster, resource))


def count(decision_counts: DecisionCounts, decision: PlacementDecision) -> None:
    """Count what a PlacementDecision says."""
    decision_counts.put(
        decision.key,
        decision.placement_key,
        (cluster_decision.cluster_name for cluster_decision in decision.status.decisions),
    )


def placements_of(decision: PlacementDecision) -> tuple[str, ...]:
    """Return the key of the Placement that a decision belongs to; nothing where it names none."""
    return (decision.placement_key,) if decision.placement_key else ()

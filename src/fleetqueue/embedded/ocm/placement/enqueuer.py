"""Which Placements are enqueued when an object changes.

For a changed cluster or score it is also noted which cluster it was, so that a Placement looks at that one only.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Final

from fleetqueue.api.cluster_v1 import (
    CLUSTER_SET_LABEL,
    AddOnPlacementScore,
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
    Placement,
)
from fleetqueue.embedded.ocm.placement.eligibility import is_member
from fleetqueue.embedded.ocm.placement.plugins.filters import asks_for_scores
from fleetqueue.embedded.ocm.placement.plugins.prioritizers import score_resources
from fleetqueue.runtime.cluster import Cluster

BY_SET, BY_NAME, BY_NAMESPACE, BY_LABELS, BY_SCORE = "set", "name", "namespace", "labels", "score"
ANY: Final = "*"


class Enqueuer:
    def __init__(self, hub: Cluster) -> None:
        self._hub = hub
        self._touched: dict[str, set[str]] = {}

    def declare_indexes(self) -> None:
        """Before the hub runs."""
        hub = self._hub
        hub.informer(ManagedCluster).store.add_index(BY_SET, _own_set)
        hub.informer(ManagedClusterSet).store.add_index(BY_LABELS, _any_if_by_labels)
        hub.informer(ManagedClusterSetBinding).store.add_index(BY_NAME, lambda binding: (binding.name,))
        hub.informer(ManagedClusterSetBinding).store.add_index(BY_NAMESPACE, lambda binding: (binding.namespace,))
        hub.informer(Placement).store.add_index(BY_SET, _wanted_sets)
        hub.informer(Placement).store.add_index(BY_SCORE, _wanted_scores)

    def take_touched(self, placement: str) -> set[str]:
        """Return which clusters changed since this was last asked for a Placement."""
        return self._touched.pop(placement, set())

    def of_cluster(self, cluster: ManagedCluster) -> Iterable[str]:
        keys = {key for cluster_set in self._sets_of(cluster) for key in self.of_set(cluster_set)}
        return self._touch(keys, cluster.name)

    def of_set(self, cluster_set: ManagedClusterSet) -> Iterable[str]:
        bindings = self._hub.by_index(ManagedClusterSetBinding, BY_NAME, cluster_set.name)
        return sorted({key for binding in bindings for key in self.of_binding(binding)})

    def of_binding(self, binding: ManagedClusterSetBinding) -> Iterable[str]:
        namespace = binding.namespace
        named = self._hub.by_index(Placement, BY_SET, f"{namespace}/{binding.name}")
        return [placement.key for placement in (*named, *self._hub.by_index(Placement, BY_SET, f"{namespace}/{ANY}"))]

    def of_score(self, score: AddOnPlacementScore) -> Iterable[str]:
        placements = [
            *self._hub.by_index(Placement, BY_SCORE, score.name),
            *self._hub.by_index(Placement, BY_SCORE, ANY),
        ]
        cluster = self._hub.get(ManagedCluster, score.namespace)
        if not placements or cluster is None:
            return ()
        bound = self._bound_sets_of(cluster)
        return self._touch({p.key for p in placements if _may_choose_from(p, bound)}, cluster.name)

    def members(self, sets: Sequence[ManagedClusterSet]) -> Iterable[str]:
        """Return the clusters that may be in any of some sets."""
        if any(_is_by_labels(cluster_set) for cluster_set in sets):
            return sorted(self._hub.informer(ManagedCluster).store.keys())
        return [
            cluster.name
            for cluster_set in sets
            for cluster in self._hub.by_index(ManagedCluster, BY_SET, cluster_set.name)
        ]

    def _sets_of(self, cluster: ManagedCluster) -> list[ManagedClusterSet]:
        own = self._hub.get(ManagedClusterSet, cluster.metadata.labels.get(CLUSTER_SET_LABEL, ""))
        by_labels = self._hub.by_index(ManagedClusterSet, BY_LABELS, ANY)
        return [
            cluster_set
            for cluster_set in (own, *by_labels)
            if cluster_set is not None and is_member(cluster, cluster_set)
        ]

    def _bound_sets_of(self, cluster: ManagedCluster) -> dict[str, set[str]]:
        """Return, for each namespace, which of the cluster's sets are bound there."""
        bound: dict[str, set[str]] = {}
        for cluster_set in self._sets_of(cluster):
            for binding in self._hub.by_index(ManagedClusterSetBinding, BY_NAME, cluster_set.name):
                bound.setdefault(binding.namespace, set()).add(cluster_set.name)
        return bound

    def _touch(self, keys: Iterable[str], cluster: str) -> Iterable[str]:
        woken = sorted(keys)
        for key in woken:
            self._touched.setdefault(key, set()).add(cluster)
        return woken


def _may_choose_from(placement: Placement, bound: Mapping[str, Set[str]]) -> bool:
    sets, wanted = bound.get(placement.namespace, set()), placement.spec.cluster_sets
    return not sets.isdisjoint(wanted) if wanted else bool(sets)


def _own_set(cluster: ManagedCluster) -> Iterable[str]:
    name = cluster.metadata.labels.get(CLUSTER_SET_LABEL)
    return (name,) if name else ()


def _is_by_labels(cluster_set: ManagedClusterSet) -> bool:
    return cluster_set.spec.cluster_selector.selector_type == "LabelSelector"


def _any_if_by_labels(cluster_set: ManagedClusterSet) -> Iterable[str]:
    return (ANY,) if _is_by_labels(cluster_set) else ()


def _wanted_sets(placement: Placement) -> Iterable[str]:
    return {f"{placement.namespace}/{name}" for name in placement.spec.cluster_sets or (ANY,)}


def _wanted_scores(placement: Placement) -> Iterable[str]:
    return {*score_resources(placement), *((ANY,) if asks_for_scores(placement) else ())}

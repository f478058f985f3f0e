"""Cluster sets: the two that every hub has, how many clusters are in each, who is bound to them, and their namespaces.

Reads:   ManagedClusterSet, ManagedCluster, ManagedClusterSetBinding
Writes:  ManagedClusterSet (`default` and `global`; condition ClusterSetEmpty), ManagedClusterSetBinding (condition
         Bound), ManagedCluster (status.managedNamespaces)
Mirrors: ocm pkg/registration/hub/{managedclusterset,managedclustersetbinding},
         pkg/registration/hub/managedcluster/managed_namespace_controller.go
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue.api.cluster_v1 import GLOBAL_SET, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.api.meta import replacement, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.names import AUTO_UPDATE, DEFAULT_SET
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status, write_condition, write_status

SELECTORS: Final[dict[str, Manifest]] = {
    DEFAULT_SET: {"selectorType": "ExclusiveClusterSetLabel"},
    GLOBAL_SET: {"selectorType": "LabelSelector", "labelSelector": {}},
}

log = Log("registration")


class BuiltInSetController(Controller):
    """Keeps `default`, for clusters without another set, and `global`, for all."""

    name = "built-in-cluster-sets"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedClusterSet, lambda cluster_set: (cluster_set.name,) if cluster_set.name in SELECTORS else ())

    def subscribe(self) -> None:
        super().subscribe()
        for name in SELECTORS:
            self.wake(name)  # nobody else tells us of a set that was never there

    async def reconcile(self, key: str) -> None:
        cluster_set = self.hub.get(ManagedClusterSet, key)
        if cluster_set is None:
            manifest = ManagedClusterSet.manifest(key, spec={"clusterSelector": SELECTORS[key]})
            await self.hub.client.create(ManagedClusterSet.resource, manifest)
            log.info("cluster set made", set=key)
        elif cluster_set.metadata.annotations.get(AUTO_UPDATE) != "false":
            await self._restore(cluster_set)

    async def _restore(self, cluster_set: ManagedClusterSet) -> None:
        """Take back a change of who belongs to it; all else may be changed."""
        spec = self.hub.raw(cluster_set).get("spec") or {}
        patch = replacement(spec.get("clusterSelector") or {}, SELECTORS[cluster_set.name])
        if not patch:
            return
        body = {"metadata": cluster_set.precondition, "spec": {"clusterSelector": patch}}
        await self.hub.client.merge(ManagedClusterSet.resource, cluster_set.name, "", body)
        log.info("cluster set restored", set=cluster_set.name)


class ClusterSetController(Controller):
    """Says of each cluster set how many clusters are in it."""

    name = "managed-cluster-sets"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedClusterSet, by_key)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(ManagedCluster).subscribe(self._changed)

    async def reconcile(self, key: str) -> None:
        cluster_set = self.hub.get(ManagedClusterSet, key)
        if cluster_set is None or cluster_set.is_deleting:
            return
        count = sum(cluster_set.has(cluster) for cluster in self.hub.list(ManagedCluster))
        await write_condition(self.hub, cluster_set, messages.members(count))

    def _changed(self, old: ManagedCluster | None, new: ManagedCluster | None) -> None:
        """Wake the sets that a cluster joined or left; a cluster changes often, its labels seldom."""
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            return
        for cluster_set in self.hub.list(ManagedClusterSet):
            was_member = old is not None and cluster_set.has(old)
            if was_member != (new is not None and cluster_set.has(new)):
                self.wake(cluster_set.name)


BY_SET: Final = "set"
"""An index of ManagedClusterSetBindings."""


class BindingController(Controller):
    """Says of each binding whether the set that it binds exists."""

    name = "managed-cluster-set-bindings"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        hub.informer(ManagedClusterSetBinding).store.add_index(BY_SET, lambda binding: (binding.spec.cluster_set,))

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedClusterSetBinding, by_key)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(ManagedClusterSet).subscribe(self._changed)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        binding = self.hub.get(ManagedClusterSetBinding, name, namespace)
        if binding is None:
            return
        exists = self.hub.get(ManagedClusterSet, binding.spec.cluster_set) is not None
        await write_condition(self.hub, binding, messages.bound(exists))

    def _changed(self, old: ManagedClusterSet | None, new: ManagedClusterSet | None) -> None:
        """Wake the bindings of a set that came or went."""
        changed = old or new
        if changed is None or (old is not None and new is not None):
            return
        for binding in self.hub.by_index(ManagedClusterSetBinding, BY_SET, changed.name):
            self.wake(binding.key)


log = Log("registration")


class ManagedNamespaceController(Controller):
    """Tells each cluster which namespaces its sets want on it.

    What agents said of their namespaces stays; in OCM it is lost whenever a set changes, until they say it again.
    """

    name = "managed-namespaces"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedClusterSet, self._concerned)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(ManagedCluster).subscribe(self._changed)

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, key)
        if cluster is None or cluster.is_deleting:
            return
        status = live_status(self.hub, cluster)
        live = status.get("managedNamespaces") or []
        wanted = wanted_namespaces(cluster, self.hub.list(ManagedClusterSet), live)
        if wanted == live:
            return
        rest = {field: value for field, value in status.items() if field != "managedNamespaces"}
        await write_status(self.hub, cluster, status, {**rest, **({"managedNamespaces": wanted} if wanted else {})})
        log.info("managed namespaces changed", cluster=key, namespaces=len(wanted))

    def _concerned(self, cluster_set: ManagedClusterSet) -> Iterable[str]:
        """Wake the members of a set that wants namespaces, and those that have some of it."""
        for cluster in self.hub.list(ManagedCluster):
            wants = bool(cluster_set.spec.managed_namespaces) and cluster_set.has(cluster)
            if wants or any(
                namespace.cluster_set == cluster_set.name for namespace in cluster.status.managed_namespaces
            ):
                yield cluster.name

    def _changed(self, old: ManagedCluster | None, new: ManagedCluster | None) -> None:
        if new is not None and (old is None or old.metadata.labels != new.metadata.labels):
            self.wake(new.name)


def wanted_namespaces(
    cluster: ManagedCluster, cluster_sets: Iterable[ManagedClusterSet], live: Sequence[Manifest]
) -> list[Manifest]:
    """Return the namespaces of all sets of a cluster, by the name of the set and their own."""
    entries = {(item["clusterSet"], item["name"]): item for item in live}
    pairs = sorted(
        (item.name, namespace.name)
        for item in cluster_sets
        if not item.is_deleting and item.has(cluster)
        for namespace in item.spec.managed_namespaces
    )
    return [entries.get(pair) or {"name": pair[1], "clusterSet": pair[0]} for pair in pairs]

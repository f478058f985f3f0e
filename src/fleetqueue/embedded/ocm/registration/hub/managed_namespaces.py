"""Tell each cluster which namespaces its sets want on it.

Reads:   ManagedCluster, ManagedClusterSet
Writes:  ManagedCluster (status.managedNamespaces)
Mirrors: ocm pkg/registration/hub/managedcluster/managed_namespace_controller.go

What agents said of their namespaces stays; in OCM it is lost whenever a set changes, until they say it again.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from fleetqueue.api.cluster_v1 import ManagedCluster, ManagedClusterSet
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.writing import raw_of
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import write_status

log = Log("registration")


class ManagedNamespaceController(Controller):
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
        status = raw_of(self.hub, cluster).get("status") or {}
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
            if wants or any(each.cluster_set == cluster_set.name for each in cluster.status.managed_namespaces):
                yield cluster.name

    def _changed(self, old: ManagedCluster | None, new: ManagedCluster | None) -> None:
        if new is not None and (old is None or old.metadata.labels != new.metadata.labels):
            self.wake(new.name)


def wanted_namespaces(
    cluster: ManagedCluster, cluster_sets: Iterable[ManagedClusterSet], live: Sequence[Manifest]
) -> list[Manifest]:
    """Return the namespaces of all sets of a cluster, by the name of the set and their own."""
    said = {(each["clusterSet"], each["name"]): each for each in live}
    pairs = sorted(
        (each.name, namespace.name)
        for each in cluster_sets
        if not each.is_deleting and each.has(cluster)
        for namespace in each.spec.managed_namespaces
    )
    return [said.get(pair) or {"name": pair[1], "clusterSet": pair[0]} for pair in pairs]

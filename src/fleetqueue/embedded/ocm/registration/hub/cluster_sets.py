"""Say of each cluster set how many clusters are in it.

Reads:   ManagedClusterSet, ManagedCluster
Writes:  ManagedClusterSet (condition ClusterSetEmpty)
Mirrors: ocm pkg/registration/hub/managedclusterset/controller.go
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.cluster_v1 import ManagedCluster, ManagedClusterSet
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.writing import write_condition
from fleetqueue.runtime.controller import Controller, Watch, by_key


class ClusterSetController(Controller):
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
        await write_condition(self.hub, cluster_set, cluster_set.status.conditions, messages.members(count))

    def _changed(self, old: ManagedCluster | None, new: ManagedCluster | None) -> None:
        """Wake the sets that a cluster joined or left; a cluster changes often, its labels seldom."""
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            return
        for cluster_set in self.hub.list(ManagedClusterSet):
            was = old is not None and cluster_set.has(old)
            if was != (new is not None and cluster_set.has(new)):
                self.wake(cluster_set.name)

"""Let the profiles of a cluster say what its ManagedCluster says: version, claims, health, and its set.

Reads:   ManagedCluster, ClusterProfile
Writes:  ClusterProfile status (conditions, version, properties) and labels
Mirrors: ocm pkg/registration/hub/clusterprofile/status_controller.go

Others write into the same status how the cluster is reached (`accessProviders`). Each writes only its own fields, and
only over the version that it saw.
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.inventory_v1alpha1 import MANAGER_LABEL, OCM_CLUSTER_LABEL, OCM_MANAGER, ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.cluster_profiles.profiles import cluster_of, labels_patch, status_patch
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log

BY_CLUSTER: Final = "cluster"
"""An index of ClusterProfiles."""

log = Log("cluster-profiles")


class ProfileStatusController(Controller):
    """The key is a cluster."""

    name = "cluster-profile-status"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, lambda cluster: (cluster.name,))
        yield Watch(ClusterProfile, _cluster)

    def subscribe(self) -> None:
        self.hub.informer(ClusterProfile).store.add_index(BY_CLUSTER, lambda profile: (cluster_of(profile),))
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, key)
        if cluster is None:
            return
        for profile in self.hub.by_index(ClusterProfile, BY_CLUSTER, key):
            if profile.spec.cluster_manager.name == OCM_MANAGER and not profile.is_deleting:
                await self._bring_up_to_date(profile, cluster)

    async def _bring_up_to_date(self, profile: ClusterProfile, cluster: ManagedCluster) -> None:
        """Write the status; the labels follow when that has been seen, since each write makes a new version."""
        live = (self.hub.informer(ClusterProfile).store.raw(profile.key) or {}).get("status") or {}
        if status := status_patch(live, cluster, clock.now()):
            await self._merge(profile, {"status": status}, "status")
            log.info("profile says", cluster=cluster.name, namespace=profile.namespace, fields=",".join(status))
        elif labels := labels_patch(profile.metadata.labels, cluster):
            await self._merge(profile, {"metadata": {"labels": labels}}, "")

    async def _merge(self, profile: ClusterProfile, patch: Manifest, subresource: str) -> None:
        patch = {**patch, "metadata": {**patch.get("metadata", {}), **profile.precondition}}
        await self.hub.client.merge(profile.resource, profile.name, profile.namespace, patch, subresource=subresource)


def _cluster(profile: ClusterProfile) -> Iterable[str]:
    labels = profile.metadata.labels
    is_known = OCM_CLUSTER_LABEL in labels or labels.get(MANAGER_LABEL) == OCM_MANAGER
    return (cluster_of(profile),) if is_known else ()

"""Keep a ClusterProfile in each namespace for each cluster of the sets that are bound there, and its status right.

The status says what the ManagedCluster says: version, claims, health, and its set.

Reads:   ManagedClusterSetBinding, ManagedClusterSet, ManagedCluster, Namespace, ClusterProfile
Writes:  creates and deletes ClusterProfiles; their status (conditions, version, properties) and labels
Mirrors: ocm pkg/registration/hub/clusterprofile/{lifecycle,status}_controller.go

Upstream does not look at changes of clusters and learns of a cluster that went from one set to another by what the sets
say then; here the cluster's change itself is seen.

Others write into the same status how the cluster is reached (`accessProviders`). Each writes only its own fields, and
only over the version that it saw.
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.inventory_v1alpha1 import MANAGER_LABEL, OCM_CLUSTER_LABEL, OCM_MANAGER, ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.cluster_profiles.profiles import (
    cluster_of,
    labels_patch,
    profile_manifest,
    status_patch,
    wanted_clusters,
)
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import live_status

log = Log("cluster-profiles")


class ProfileLifecycleController(Controller):
    """The key is a namespace."""

    name = "cluster-profile-lifecycle"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedClusterSetBinding, lambda binding: (binding.namespace,))
        yield Watch(ManagedClusterSet, self._bound_to)
        yield Watch(Namespace, lambda namespace: (namespace.name,))

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(ManagedCluster).subscribe(self._see_cluster)
        self.hub.informer(ClusterProfile).subscribe(self._see_profile)

    async def reconcile(self, key: str) -> None:
        namespace = self.hub.get(Namespace, key)
        if namespace is None or namespace.is_deleting:
            return
        wanted = dict.fromkeys(self._wanted(key))
        live = {profile.name: profile for profile in self.hub.list(ClusterProfile, key) if is_ocms(profile)}
        for name, profile in live.items():
            if name not in wanted and not profile.is_deleting:
                await self._delete(profile)
        taken = [name for name in wanted if name not in live and not await self._create(name, key)]
        if taken:
            raise errors.AlreadyExists(
                f"ClusterProfiles {', '.join(taken)} of {key} are somebody else's, or not seen yet"
            )

    async def _create(self, name: str, namespace: str) -> bool:
        try:
            await self.hub.client.create(ClusterProfile.resource, profile_manifest(name, namespace))
        except errors.AlreadyExists:
            return False
        log.info("profile made", cluster=name, namespace=namespace)
        return True

    def _wanted(self, namespace: str) -> list[str]:
        sets = {cluster_set.name: cluster_set for cluster_set in self.hub.list(ManagedClusterSet)}
        bindings = self.hub.list(ManagedClusterSetBinding, namespace)
        return wanted_clusters(bindings, sets, self.hub.list(ManagedCluster))

    async def _delete(self, profile: ClusterProfile) -> None:
        if await self.hub.client.delete_seen(profile):
            log.info("profile removed", cluster=profile.name, namespace=profile.namespace)

    def _bound_to(self, chosen: ManagedClusterSet) -> Iterable[str]:
        bindings = self.hub.list(ManagedClusterSetBinding)
        return [binding.namespace for binding in bindings if binding.spec.cluster_set == chosen.name]

    def _see_profile(self, old: ClusterProfile | None, new: ClusterProfile | None) -> None:
        """Wake its namespace when a profile comes or goes; what it says is for others to keep right."""
        for profile in (old, new):
            if profile is not None and (old is None or new is None or is_ocms(old) != is_ocms(new)):
                self.wake(profile.namespace)

    def _see_cluster(self, old: ManagedCluster | None, new: ManagedCluster | None) -> None:
        """Wake who has this cluster or may get it; most changes of a cluster are about its health only."""
        if old is not None and new is not None and _membership(old) == _membership(new):
            return
        seen = [cluster for cluster in (old, new) if cluster is not None]
        for cluster_set in self.hub.list(ManagedClusterSet):
            if any(cluster_set.has(cluster) for cluster in seen):
                for namespace in self._bound_to(cluster_set):
                    self.wake(namespace)


def is_ocms(profile: ClusterProfile) -> bool:
    return profile.metadata.labels.get(MANAGER_LABEL) == OCM_MANAGER


def _membership(cluster: ManagedCluster) -> tuple[dict[str, str], bool]:
    """Return what decides in which sets a cluster counts."""
    return cluster.metadata.labels, cluster.is_deleting


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
        live = live_status(self.hub, profile)
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

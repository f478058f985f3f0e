"""By what add-ons and their works are found, and whom they wake."""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.meta import key_of
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Watch

BY_NAME: Final = "name"
BY_PLACEMENT: Final = "placement"
BY_ADD_ON: Final = "add-on"


def add_indexes(hub: Cluster) -> None:
    """Keep findable what the controllers of this package look for; before the hub runs."""
    hub.informer(addon.ManagedClusterAddOn).store.add_index(BY_NAME, lambda obj: (obj.name,))
    hub.informer(addon.ClusterManagementAddOn).store.add_index(BY_PLACEMENT, _placements)
    hub.informer(cluster.PlacementDecision).store.add_index(BY_PLACEMENT, lambda obj: (obj.placement_key,))
    hub.informer(ManifestWork).store.add_index(BY_ADD_ON, add_on_of)


def watches(hub: Cluster) -> tuple[Watch[Any], ...]:
    """Wake an add-on by what it is, where it is, and the Placements that choose its clusters."""
    return (
        Watch(addon.ClusterManagementAddOn, by_name),
        Watch(addon.ManagedClusterAddOn, by_name),
        Watch(cluster.Placement, lambda obj: users_of(hub, obj.key)),
        Watch(cluster.PlacementDecision, lambda obj: users_of(hub, obj.placement_key)),
    )


def installed(hub: Cluster, name: str) -> list[addon.ManagedClusterAddOn]:
    """Return where an add-on is, in the order of the clusters."""
    return list(hub.by_index(addon.ManagedClusterAddOn, BY_NAME, name))


def decisions(hub: Cluster, placement: cluster.Placement) -> list[cluster.PlacementDecision]:
    return list(hub.by_index(cluster.PlacementDecision, BY_PLACEMENT, placement.key))


def works_of(hub: Cluster, this: addon.ManagedClusterAddOn) -> list[ManifestWork]:
    return list(hub.by_index(ManifestWork, BY_ADD_ON, this.key))


def users_of(hub: Cluster, placement: str) -> list[str]:
    """Return the names of the add-ons that are installed by a Placement."""
    return [add_on.name for add_on in hub.by_index(addon.ClusterManagementAddOn, BY_PLACEMENT, placement)]


def add_on_of(work: ManifestWork) -> Iterable[str]:
    """Return the key of the add-on on its cluster that a work belongs to."""
    name = work.metadata.labels.get(addon.ADD_ON_LABEL)
    return (key_of(work.namespace, name),) if name and addon.ADD_ON_NAMESPACE_LABEL not in work.metadata.labels else ()


def by_name(obj: addon.ManagedClusterAddOn | addon.ClusterManagementAddOn) -> Iterable[str]:
    return (obj.name,)


def _placements(add_on: addon.ClusterManagementAddOn) -> Iterable[str]:
    return [key_of(placement.namespace, placement.name) for placement in add_on.spec.install_strategy.placements]

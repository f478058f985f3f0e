"""Which ClusterProfiles a namespace shall have, and what each says of its cluster. No I/O."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import inventory_v1alpha1 as inventory
from fleetqueue.api.cluster_v1 import ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import changes
from fleetqueue.api.scheme import Manifest

SOURCES = {inventory.CONTROL_PLANE_HEALTHY: cluster.AVAILABLE, inventory.JOINED: cluster.JOINED}
"""From each condition of a profile to that of the ManagedCluster that it repeats."""


def wanted_clusters(
    bindings: Iterable[ManagedClusterSetBinding],
    sets: Mapping[str, ManagedClusterSet],
    clusters: Sequence[ManagedCluster],
) -> list[str]:
    """Return the clusters of the sets that are bound, each once, in their order; those that are leaving do not count.

    Whether a cluster is accepted or well does not matter: that is what its profile tells.
    """
    bound = [sets[item.spec.cluster_set] for item in bindings if is_bound(item) and item.spec.cluster_set in sets]
    return [item.name for item in clusters if not item.is_deleting and any(chosen.has(item) for chosen in bound)]


def is_bound(binding: ManagedClusterSetBinding) -> bool:
    return conditions.is_true(binding.status.conditions, cluster.BOUND)


def profile_manifest(name: str, namespace: str) -> Manifest:
    """Build the profile of a cluster as it begins."""
    labels = {inventory.MANAGER_LABEL: inventory.OCM_MANAGER, inventory.OCM_CLUSTER_LABEL: name}
    spec = {"displayName": name, "clusterManager": {"name": inventory.OCM_MANAGER}}
    return ClusterProfile.manifest(name, namespace, labels=labels, spec=spec)


def cluster_of(profile: ClusterProfile) -> str:
    """Return the ManagedCluster that a profile is about."""
    return profile.metadata.labels.get(inventory.OCM_CLUSTER_LABEL, profile.name)


def status_patch(live: Manifest, about: ManagedCluster, now: datetime) -> Manifest:
    """Return what has to change in a profile's status, in those fields that OCM's registration owns."""
    properties = [{"name": claim.name, "value": claim.value} for claim in about.status.cluster_claims]
    wanted: Manifest = {
        "version": {"kubernetes": about.status.version.kubernetes or None},
        "properties": properties or None,
        "conditions": with_conditions(live.get("conditions") or [], _conditions(about), now),
    }
    return changes({"conditions": [], **live}, wanted)


def _conditions(about: ManagedCluster) -> list[Condition]:
    """Return what the cluster says of itself, in the inventory's words; what it does not say is left as it was."""
    by_kind = {kind: conditions.find(about.status.conditions, source) for kind, source in SOURCES.items()}
    return [
        Condition(type=kind, status=condition.status, reason=condition.reason, message=condition.message)
        for kind, condition in by_kind.items()
        if condition is not None
    ]


def labels_patch(live: Mapping[str, str], about: ManagedCluster) -> dict[str, str]:
    """Return the labels that have to change; a cluster without a set is in the set without a name."""
    wanted = {
        inventory.MANAGER_LABEL: inventory.OCM_MANAGER,
        inventory.OCM_CLUSTER_LABEL: about.name,
        inventory.CLUSTER_SET_LABEL: about.metadata.labels.get(cluster.CLUSTER_SET_LABEL, ""),
    }
    return {label: value for label, value in wanted.items() if live.get(label) != value}

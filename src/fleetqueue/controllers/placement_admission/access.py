"""How Kueue reaches a member: through the kubeconfig secret of its cluster, or through its ClusterProfile."""

from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import ACCESS_PROVIDER
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings


def source(settings: PlacementAdmissionSettings, cluster: str) -> Manifest:
    """Return the clusterSource of a cluster's member; Kueue allows one kind only, so the other must be absent."""
    if settings.access == "profile":
        return {"kubeConfig": None, "clusterProfileRef": {"name": cluster}}
    secret = {"locationType": "Secret", "location": settings.secret(cluster)}
    return {"kubeConfig": secret, "clusterProfileRef": None}


def why_unusable(
    settings: PlacementAdmissionSettings, cluster: str, secret: Secret | None, profile: ClusterProfile | None
) -> str:
    """Say what Kueue, or we ourselves, lack to reach a cluster; empty where nothing is missing."""
    if secret is None:
        return f"no secret {settings.secret(cluster)} yet"
    if settings.access != "profile":
        return ""
    if profile is None:
        return f"no ClusterProfile {cluster}"
    if not profile.is_of(cluster):
        return f"ClusterProfile {cluster} is not the one that OCM keeps for this cluster"
    if not profile.has_provider(ACCESS_PROVIDER):
        return f"ClusterProfile {cluster} has no access provider {ACCESS_PROVIDER}"
    return ""

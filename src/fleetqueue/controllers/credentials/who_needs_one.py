"""Which clusters need a credential, and why."""

from collections.abc import Container, Iterable

from fleetqueue.api.cluster_v1 import PLACEMENT_LABEL, ManagedCluster, PlacementDecision
from fleetqueue.api.fleetqueue import CREDENTIALS_ANNOTATION, credentials_secret
from fleetqueue.api.kueue_v1beta2 import MultiKueueCluster

_PREFIX, _SUFFIX = credentials_secret("/").split("/")


def why_needed(
    cluster: ManagedCluster | None,
    *,
    placements: Container[str],
    decisions: Iterable[PlacementDecision],
    members: Iterable[MultiKueueCluster],
) -> str:
    """Say why a cluster needs a credential; empty where it does not.

    `placements` are those that our AdmissionChecks name, `decisions` and `members` the ones that name the cluster. A
    MultiKueueCluster counts whoever made it, and also when its ManagedCluster is being deleted or gone: while it names
    our secret, Kueue may run jobs through it, and without the credential they would run on and be started elsewhere.
    """
    is_staying = cluster is not None and not cluster.is_deleting
    for decision in decisions if is_staying else ():
        placement = decision.metadata.labels.get(PLACEMENT_LABEL, "")
        if placement in placements:
            return f'Placement "{placement}" selects it'
    for member in members:
        return f'MultiKueueCluster "{member.name}" uses it'
    if cluster is not None and is_staying and cluster.metadata.annotations.get(CREDENTIALS_ANNOTATION) == "true":
        return f"annotation {CREDENTIALS_ANNOTATION} asks for it"
    return ""


def clusters_of_decision(decision: PlacementDecision) -> list[str]:
    return [chosen.cluster_name for chosen in decision.status.decisions]


def clusters_of_member(member: MultiKueueCluster) -> list[str]:
    """Return the cluster whose secret or profile a MultiKueueCluster names, if it names one of ours."""
    source = member.spec.cluster_source
    if source.cluster_profile_ref is not None:
        return [source.cluster_profile_ref.name]
    if source.kube_config is None or source.kube_config.location_type != "Secret":
        return []
    return cluster_of_secret(source.kube_config.location)


def cluster_of_secret(name: str) -> list[str]:
    """Return the cluster that a secret of such a name is for, if the name is one of ours."""
    inner = name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return [inner] if inner and credentials_secret(inner) == name else []

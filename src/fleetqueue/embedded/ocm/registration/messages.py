"""What users read about clusters, sets and bindings: conditions and events, in OCM's own words."""

from datetime import UTC, datetime
from typing import Final

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.conditions import UNKNOWN, Condition

CERTIFICATE_ROTATED: Final = "ClusterCertificateRotated"
NAMESPACE_AVAILABLE: Final = "NamespaceAvailable"
Said = tuple[str, str]
"""The reason of an event, which is also its action, and its note."""

APPROVED: Final = {
    "reason": "AutoApprovedByHubCSRApprovingController",
    "message": "Auto approving Managed cluster agent certificate after SubjectAccessReview.",
}


def accepted() -> Condition:
    return Condition.true(cluster.ACCEPTED, "HubClusterAdminAccepted", "Accepted by hub cluster admin")


def denied() -> Condition:
    return Condition.false(cluster.ACCEPTED, "HubClusterAdminDenied", "Denied by hub cluster admin")


def not_applied(problems: str) -> Condition:
    return Condition.false(cluster.ACCEPTED, "Error", problems)


def joined() -> Condition:
    return Condition.true(cluster.JOINED, "ManagedClusterJoined", "Managed cluster joined")


def available() -> Condition:
    return Condition.true(cluster.AVAILABLE, "ManagedClusterAvailable", "Managed cluster is available")


def unavailable(code: int, why: str) -> Condition:
    text = f"The kube-apiserver is not ok, status code: {code}, {why}"
    return Condition.false(cluster.AVAILABLE, "ManagedClusterKubeAPIServerUnavailable", text)


def silent() -> Condition:
    return Condition(
        type=cluster.AVAILABLE,
        status=UNKNOWN,
        reason="ManagedClusterLeaseUpdateStopped",
        message="Registration agent stopped updating its lease.",
    )


def clock_synced() -> Condition:
    return Condition.true(
        cluster.CLOCK_SYNCED, "ManagedClusterClockSynced", "The clock of the managed cluster is synced with the hub."
    )


def clock_out_of_sync() -> Condition:
    return Condition.false(
        cluster.CLOCK_SYNCED,
        "ManagedClusterClockOutOfSync",
        "The clock of hub and agent is out of sync. This may cause the Unknown status and affect agent "
        "functionalities.",
    )


def remaining(plural: str, count: int, held: int) -> Condition:
    text = f"The resource {plural} is remaning, the remaining count is {count}, the finalizer pending count is {held}"
    return Condition.false(cluster.DELETING, "ResourceRemaining", text)


def nothing_remains() -> Condition:
    return Condition.true(cluster.DELETING, "NoResource", "No cleaned resource in cluster ns.")


def cleanup_failed(why: str) -> Condition:
    return Condition.false(cluster.DELETING, "DeletingError", why)


def members(count: int) -> Condition:
    if count:
        return Condition.false(cluster.SET_EMPTY, "ClustersSelected", f"{count} ManagedClusters selected")
    return Condition.true(cluster.SET_EMPTY, "NoClusterMatched", "No ManagedCluster selected")


def bound(exists: bool) -> Condition:
    if exists:
        return Condition.true(cluster.BOUND, "ClusterSetBound", "")
    return Condition.false(cluster.BOUND, "ClusterSetNotFound", "")


def rotated(since: datetime, until: datetime) -> Condition:
    text = f"client certificate rotated starting from {_go_time(since)} to {_go_time(until)}"
    return Condition.true(CERTIFICATE_ROTATED, "ClientCertificateUpdated", text)


def not_rotated(why: str) -> Condition:
    return Condition.false(CERTIFICATE_ROTATED, "ClientCertificateUpdateFailed", why)


def namespace_applied() -> Condition:
    return Condition.true(NAMESPACE_AVAILABLE, "NamespaceApplied", "Namespace successfully applied and managed")


def namespace_not_applied(why: str) -> Condition:
    return Condition.false(NAMESPACE_AVAILABLE, "NamespaceApplyFailed", f"Failed to apply namespace: {why}")


def said_silent(name: str) -> Said:
    return "AvailableUnknown", (
        f"The {name} is successfully imported. However, the connection check from the managed cluster to the hub "
        "cluster has failed"
    )


def said_available(name: str) -> Said:
    return "Available", (
        f"The {name} is successfully imported, and it is managed by the hub cluster. Its apieserver is available"
    )


def said_unavailable(name: str) -> Said:
    return "Unavailable", f"The {name} is successfully imported. However, its Kube API server is unavailable"


def _go_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")

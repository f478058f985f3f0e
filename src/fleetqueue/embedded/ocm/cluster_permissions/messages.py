"""What a ClusterPermission says of itself: reasons and messages, equal to upstream's."""

from collections.abc import Sequence


def no_bindings() -> tuple[str, str]:
    return "FailedValidationNoBindingsDefined", "no bindings defined"


def no_cluster() -> tuple[str, str]:
    return "FailedValidationNotInManagedClusterNamespace", "namespace value is not a managed cluster"


def not_built(why: str) -> tuple[str, str]:
    return "FailedBuildManifestWork", why


def not_complete(namespace: str, work: str) -> tuple[str, str]:
    return "ApplyRBACManifestWorkNotComplete", with_hint("Apply RBAC manifestWork not complete", namespace, work)


def with_hint(message: str, namespace: str, work: str) -> str:
    """Tell how to look at the work that a message is about."""
    command = f"kubectl -n {namespace} get ManifestWork {work} -o yaml"
    return f"{message}\nRun the following command to check the ManifestWork status:\n{command}"


def roles_missing(names: Sequence[str]) -> tuple[str, str]:
    return "RolesNotFound", f"The following roles were not found: {', '.join(names)}"


def roles_found() -> tuple[str, str]:
    return "AllRolesFound", "All referenced roles were found"


def cluster_roles_missing(names: Sequence[str]) -> tuple[str, str]:
    return "ClusterRolesNotFound", f"The following cluster roles were not found: {', '.join(names)}"


def cluster_roles_found() -> tuple[str, str]:
    return "AllClusterRolesFound", "All referenced cluster roles were found"


def applied() -> tuple[str, str]:
    return "AppliedManifestComplete", "Apply manifest complete"


def not_applied(why: str) -> tuple[str, str]:
    return "FailedApplyManifest", why


def unknown() -> tuple[str, str]:
    return "FailedGetManifestCondition", "Failed to get the manifest condition"

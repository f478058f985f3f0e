"""The ManifestWork of a ClusterPermission, and what the permission says of it. No I/O."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from fleetqueue.api import conditions
from fleetqueue.api.cluster_permission_v1alpha1 import (
    APPLIED,
    CLUSTER_ROLES_EXIST,
    ROLES_EXIST,
    ClusterPermission,
)
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import changes, controller_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.work_v1 import ManifestCondition, ManifestWork
from fleetqueue.embedded.ocm.cluster_permissions import messages
from fleetqueue.embedded.ocm.cluster_permissions.payload import RBAC

PLURALS: Final = {"ClusterRole": "clusterroles", "Role": "roles"}
STATUS_FIELDS: Final = {
    "ClusterRole": "clusterRoles",
    "ClusterRoleBinding": "clusterRoleBindings",
    "Role": "roles",
    "RoleBinding": "roleBindings",
}
"""Under which field of `status.resourceStatus` the objects of each kind stand."""


def work_name(permission: ClusterPermission) -> str:
    return f"{permission.name}-{permission.uid[:5]}"


def work_manifest(permission: ClusterPermission, made: Sequence[Manifest], looked_for: Sequence[Manifest]) -> Manifest:
    """Build the work: what shall be made, and what is only looked at. It goes when the permission goes."""
    spec: Manifest = {"workload": {"manifests": [*made, *looked_for]}}
    if looked_for:
        spec["manifestConfigs"] = [_read_only(manifest) for manifest in looked_for]
    manifest = ManifestWork.manifest(work_name(permission), permission.namespace, spec=spec)
    owner = controller_reference(permission.resource, permission.name, permission.uid)
    manifest["metadata"]["ownerReferences"] = [owner]
    return manifest


def _read_only(manifest: Manifest) -> Manifest:
    identifier = {"group": RBAC, "resource": PLURALS[manifest["kind"]], "namespace": "", **manifest["metadata"]}
    return {"resourceIdentifier": identifier, "updateStrategy": {"type": "ReadOnly"}}


def is_current(live: Manifest, wanted: Manifest) -> bool:
    """Tell whether a work has the wanted spec; a server may have added to the configuration what nobody asked for."""
    configs = [spec.get("manifestConfigs") or [] for spec in (live, wanted)]
    return (
        live["workload"] == wanted["workload"]
        and set(live) - {"manifestConfigs"} == {"workload"}
        and len(configs[0]) == len(configs[1])
        and not any(changes(*pair) for pair in zip(*configs, strict=True))
    )


def told(permission: ClusterPermission, work: ManifestWork) -> list[Condition]:
    """Return what a permission says of its work."""
    applied = conditions.find(work.status.conditions, "Applied")
    if applied is None:
        return [Condition.false(APPLIED, *messages.not_complete(work.namespace, work.name))]
    message = messages.with_hint(applied.message, work.namespace, work.name)
    reported = [Condition(type=APPLIED, status=applied.status, reason=applied.reason, message=message)]
    return [*reported, *_existence(work)] if permission.spec.validate else reported


def _existence(work: ManifestWork) -> list[Condition]:
    """Say which of the roles are on the worker."""
    missing = [
        item.resource_meta
        for item in work.status.resource_status.manifests
        if not conditions.is_true(item.conditions, "Available")
    ]
    roles = [f"{item.namespace}/{item.name}" for item in missing if item.kind == "Role"]
    cluster_roles = [item.name for item in missing if item.kind == "ClusterRole"]
    return [
        Condition.false(ROLES_EXIST, *messages.roles_missing(roles))
        if roles
        else Condition.true(ROLES_EXIST, *messages.roles_found()),
        Condition.false(CLUSTER_ROLES_EXIST, *messages.cluster_roles_missing(cluster_roles))
        if cluster_roles
        else Condition.true(CLUSTER_ROLES_EXIST, *messages.cluster_roles_found()),
    ]


def resource_status(work: ManifestWork) -> Manifest:
    """Return how each of the objects is, by kind, in the order of the work."""
    made = work.metadata.creation_timestamp
    statuses: dict[str, Any] = {}
    for manifest in work.status.resource_status.manifests:
        field = STATUS_FIELDS.get(manifest.resource_meta.kind)
        if field is not None:
            statuses.setdefault(field, []).append(_resource(manifest, made))
    return statuses


def _resource(manifest: ManifestCondition, made: datetime | None) -> Manifest:
    about = manifest.resource_meta
    named = {"name": about.name, **({"namespace": about.namespace} if about.kind in ("Role", "RoleBinding") else {})}
    return {**named, "condition": list(_applied(manifest.conditions, made))}


def _applied(reported: Sequence[Condition], made: datetime | None) -> Iterable[Manifest]:
    """Say whether one object was applied, since when the worker says so; of one that is unknown, since it was asked."""
    live = conditions.find(reported, "Applied")
    if live is None:
        status, since, (reason, message) = conditions.FALSE, made, messages.unknown()
    else:
        status, since = live.status, live.last_transition_time
        reason, message = messages.applied() if live.is_true else messages.not_applied(live.message)
    condition = Condition(type="Applied", status=status, reason=reason, message=message, last_transition_time=since)
    return conditions.dated([condition], [condition], now=since or datetime.min)

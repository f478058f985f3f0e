"""Roles and their bindings."""

from typing import Any, ClassVar

from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource
from fleetqueue.api.selectors import LabelSelector


class AggregationRule(View):
    cluster_role_selectors: tuple[LabelSelector, ...] = ()


class ClusterRole(Object):
    resource: ClassVar = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)

    rules: tuple[dict[str, Any], ...] = ()
    aggregation_rule: AggregationRule | None = None


class ClusterRoleBinding(Object):
    resource: ClassVar = Resource(
        "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
    )


class Role(Object):
    resource: ClassVar = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles")

    rules: tuple[dict[str, Any], ...] = ()


class RoleBinding(Object):
    resource: ClassVar = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")

"""OCM's ClusterPermission: roles and bindings that a worker shall have."""

from typing import Any, ClassVar, Final

from fleetqueue.api import conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource
from fleetqueue.api.selectors import LabelSelector

GROUP: Final = "rbac.open-cluster-management.io"
APPLIED: Final = "AppliedRBACManifestWork"
VALIDATION: Final = "Validation"
ROLES_EXIST, CLUSTER_ROLES_EXIST = "ValidateRolesExist", "ValidateClusterRolesExist"


class Subject(View):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_group: str = ""


class RoleRef(View):
    kind: str = ""
    api_group: str = ""
    name: str = ""


class PermittedRole(View):
    """Rules in one namespace or, by labels, in those that the hub has."""

    namespace: str = ""
    namespace_selector: LabelSelector | None = None
    rules: tuple[dict[str, Any], ...] = ()


class Binding(View):
    """Who is bound; `subjects` wins over `subject`."""

    subject: Subject | None = None
    subjects: tuple[Subject, ...] = ()
    name: str = ""
    """Empty means that of the ClusterPermission."""
    role_ref: RoleRef | None = None
    namespace: str = ""
    namespace_selector: LabelSelector | None = None

    @property
    def bound(self) -> tuple[Subject, ...]:
        return self.subjects or ((self.subject,) if self.subject is not None else ())


class Rules(View):
    rules: tuple[dict[str, Any], ...] = ()


class ClusterPermissionSpec(View):
    validate: bool = False
    """Whether roles that bindings name are looked for on the worker."""
    cluster_role: Rules | None = None
    cluster_role_binding: Binding | None = None
    cluster_role_bindings: tuple[Binding, ...] = ()
    roles: tuple[PermittedRole, ...] = ()
    role_bindings: tuple[Binding, ...] = ()

    @property
    def bindings_of_cluster(self) -> tuple[Binding, ...]:
        """The bindings of the whole cluster; of the two forms, the list wins."""
        one = (self.cluster_role_binding,) if self.cluster_role_binding is not None else ()
        return self.cluster_role_bindings or one


class ClusterPermissionStatus(View):
    conditions: tuple[Condition, ...] = ()


class ClusterPermission(Object):
    resource: ClassVar = Resource(GROUP, "v1alpha1", "ClusterPermission", "clusterpermissions")

    spec: ClusterPermissionSpec = ClusterPermissionSpec()
    status: ClusterPermissionStatus = ClusterPermissionStatus()

    @property
    def is_applied(self) -> bool:
        """Tell whether the worker has the roles."""
        return conditions.is_true(self.status.conditions, APPLIED)

"""OCM's ClusterPermission: roles and bindings that a worker shall have."""

from typing import ClassVar, Final

from fleetqueue.api import conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

GROUP: Final = "rbac.open-cluster-management.io"
APPLIED: Final = "AppliedRBACManifestWork"


class ClusterPermissionStatus(View):
    conditions: tuple[Condition, ...] = ()


class ClusterPermission(Object):
    resource: ClassVar = Resource(GROUP, "v1alpha1", "ClusterPermission", "clusterpermissions")

    status: ClusterPermissionStatus = ClusterPermissionStatus()

    @property
    def is_applied(self) -> bool:
        """Tell whether the worker has the roles."""
        return conditions.is_true(self.status.conditions, APPLIED)

"""The kinds that registration follows. Each is a view of its own, since what is followed has one scope per view."""

from typing import Any, ClassVar

from fleetqueue.api import core_v1 as core
from fleetqueue.api.certificates_v1 import CertificateSigningRequest
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.meta import Object, View
from fleetqueue.api.quantity import Quantity
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.api.scheme import Manifest, Resource


class ClusterNamespace(core.Namespace):
    """The namespace of a cluster on the hub."""


class ClusterLease(Lease):
    """The lease of a cluster on the hub."""


class AgentRequest(CertificateSigningRequest):
    """An agent's request for a certificate."""


class AgentRole(ClusterRole):
    """What agents may do."""


class AgentRoleBinding(ClusterRoleBinding):
    """Who may do it, everywhere."""


class Remainder(Object):
    """What is in the way of a cluster's end; only its metadata is kept."""

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        return {"metadata": super().trim(raw)["metadata"]}


class RemainingAddOn(Remainder):
    resource: ClassVar = Resource(
        "addon.open-cluster-management.io", "v1alpha1", "ManagedClusterAddOn", "managedclusteraddons"
    )


class RemainingWork(Remainder):
    resource: ClassVar = Resource("work.open-cluster-management.io", "v1", "ManifestWork", "manifestworks")


class NodeSpec(View):
    unschedulable: bool = False


class NodeStatus(View):
    capacity: dict[str, Quantity] = {}  # noqa: RUF012 - msgspec copies the default of a field
    allocatable: dict[str, Quantity] = {}  # noqa: RUF012


class WorkerNode(Object):
    """A node of the worker, by what it has."""

    resource: ClassVar = core.Node.resource

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Keep what the view reads: the list of images is most of a node's size."""
        spec, status = raw.get("spec") or {}, raw.get("status") or {}
        return {
            **super().trim(raw),
            "spec": _only(spec, "unschedulable"),
            "status": _only(status, "capacity", "allocatable"),
        }


class AgentSecret(core.Secret):
    """A secret beside the agent."""


class WorkerNamespace(core.Namespace):
    """A namespace on the worker that a cluster set asked for."""


def _only(part: Manifest, *fields: str) -> dict[str, Any]:
    return {field: part[field] for field in fields if field in part}

"""What a worker claims about itself; its agent shows it on the hub."""

from typing import ClassVar, Final

from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

RESERVED: Final = (
    "id.k8s.io",
    "kubeversion.open-cluster-management.io",
    "platform.open-cluster-management.io",
    "product.open-cluster-management.io",
)
"""The names of the claims that are always shown, however many others there are."""
WORKER_ONLY_LABEL: Final = "open-cluster-management.io/spoke-only"


class ClusterClaimSpec(View):
    value: str = ""


class ClusterClaim(Object):
    resource: ClassVar = Resource(
        "cluster.open-cluster-management.io", "v1alpha1", "ClusterClaim", "clusterclaims", namespaced=False
    )

    spec: ClusterClaimSpec = ClusterClaimSpec()

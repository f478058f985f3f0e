"""SIG Multicluster's ClusterProfile: what a fleet's inventory knows of one cluster, and how to reach it."""

from typing import Any, ClassVar, Final

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

GROUP: Final = "multicluster.x-k8s.io"
EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
"""The extension of an access provider's cluster that is handed to the exec plugin."""
MANAGER_LABEL: Final = "x-k8s.io/cluster-manager"
OCM_MANAGER: Final = "open-cluster-management"
OCM_CLUSTER_LABEL: Final = "open-cluster-management.io/cluster-name"
"""The ManagedCluster that a profile of OCM's is about."""
CLUSTER_SET_LABEL: Final = f"{GROUP}/clusterset"
CONTROL_PLANE_HEALTHY, JOINED = "ControlPlaneHealthy", "Joined"


class ClusterManager(View):
    name: str = ""


class ClusterProfileSpec(View):
    display_name: str = ""
    cluster_manager: ClusterManager = ClusterManager()


class ClusterProfileStatus(View):
    conditions: tuple[Condition, ...] = ()
    access_providers: tuple[dict[str, Any], ...] = ()
    """`{name, cluster}`; cluster is a kubeconfig's cluster section."""
    credentials: tuple[dict[str, Any], ...] = ()
    """`{consumer, accessRef}`; only in the fork that the walkthroughs used."""


class ClusterProfile(Object):
    resource: ClassVar = Resource(GROUP, "v1alpha1", "ClusterProfile", "clusterprofiles")

    spec: ClusterProfileSpec = ClusterProfileSpec()
    status: ClusterProfileStatus = ClusterProfileStatus()

    def is_of(self, cluster: str) -> bool:
        """Tell whether OCM keeps this profile, for this ManagedCluster."""
        labels = self.metadata.labels
        return labels.get(MANAGER_LABEL) == OCM_MANAGER and labels.get(OCM_CLUSTER_LABEL) == cluster

    def has_provider(self, name: str) -> bool:
        return any(provider.get("name") == name for provider in self.status.access_providers)

"""SIG Multicluster's ClusterProfile: what a fleet's inventory knows of one cluster, and how to reach it."""

from typing import Any, ClassVar, Final

from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

GROUP: Final = "multicluster.x-k8s.io"
EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
"""The extension of an access provider's cluster that is handed to the exec plugin."""


class ClusterProfileStatus(View):
    access_providers: tuple[dict[str, Any], ...] = ()
    """`{name, cluster}`; cluster is a kubeconfig's cluster section."""
    credentials: tuple[dict[str, Any], ...] = ()
    """`{consumer, accessRef}`; only in the fork that the seeds used."""


class ClusterProfile(Object):
    resource: ClassVar = Resource(GROUP, "v1alpha1", "ClusterProfile", "clusterprofiles")

    status: ClusterProfileStatus = ClusterProfileStatus()

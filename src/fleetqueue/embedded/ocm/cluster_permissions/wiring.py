"""Wire the controllers together: what OCM's cluster-permission controller does on the hub.

It needs to list and watch clusterpermissions, managedclusters, managedclusteraddons, managedserviceaccounts and
namespaces; to patch the status of clusterpermissions; to list, watch, create and patch manifestworks. The work agent
applies the roles, and may give nobody more than it has itself.
"""

from collections.abc import Sequence

from fleetqueue.embedded.ocm.cluster_permissions.controller import ClusterPermissionController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(hub: Cluster, metrics: Metrics) -> Sequence[Controller]:
    """Return the controllers of a hub."""
    return (ClusterPermissionController(hub, metrics),)

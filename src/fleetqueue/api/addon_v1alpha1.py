"""Add-ons of Open Cluster Management, as far as we know of them."""

from typing import ClassVar

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource


class ManagedClusterAddOn(Object):
    """An add-on on one cluster, in the cluster's namespace on the hub; what the add-on made there goes with it."""

    resource: ClassVar = Resource(
        "addon.open-cluster-management.io", "v1alpha1", "ManagedClusterAddOn", "managedclusteraddons"
    )

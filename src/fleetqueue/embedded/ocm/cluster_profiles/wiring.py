"""Wire the controllers together: what OCM's registration controller does with the gate ClusterProfile.

It needs, as upstream's does: to list and watch managedclusters, managedclustersets, managedclustersetbindings and
namespaces; to list, watch, create, patch and delete clusterprofiles, and to patch their status.

Profiles in the walkthroughs' form are filled by who may read secrets, which registration may not. It needs to list and
watch clusterprofiles, to patch their status, and to list and watch secrets in Kueue's namespace.
"""

from collections.abc import Sequence

from fleetqueue.embedded.ocm.cluster_profiles.controllers import ProfileLifecycleController, ProfileStatusController
from fleetqueue.embedded.ocm.cluster_profiles.seed_credentials import SeedCredentialsController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(hub: Cluster, metrics: Metrics) -> Sequence[Controller]:
    """Return the controllers of a hub."""
    return (ProfileLifecycleController(hub, metrics), ProfileStatusController(hub, metrics))


def seed_controllers(hub: Cluster, metrics: Metrics) -> Sequence[Controller]:
    """Return what a hub needs beside them whose profiles have the field of `seed_credentials.py`."""
    return (SeedCredentialsController(hub, metrics),)

"""Put the room together: what OCM's registration controller does with the gate ClusterProfile.

It needs, as upstream's does: to get, list and watch managedclusters, managedclustersets, managedclustersetbindings and
namespaces; to get, list, watch, create, update, patch and delete clusterprofiles; to update and patch their status. In
the seeds' form it also needs to get, list and watch secrets in Kueue's namespace.
"""

from collections.abc import Sequence

from fleetqueue.controllers.cluster_profiles.lifecycle import ProfileLifecycleController
from fleetqueue.controllers.cluster_profiles.seed_credentials import SeedCredentialsController
from fleetqueue.controllers.cluster_profiles.status import ProfileStatusController
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def controllers(hub: Cluster, metrics: Metrics, *, in_seed_form: bool = False) -> Sequence[Controller]:
    """Return the controllers of a hub; `in_seed_form`: its profiles have the field of `seed_form.py`."""
    seeds = (SeedCredentialsController(hub, metrics),) if in_seed_form else ()
    return (ProfileLifecycleController(hub, metrics), ProfileStatusController(hub, metrics), *seeds)

"""Wire the controllers together: OCM's managed-serviceaccount add-on, its half on the hub and its half on each worker.

The hub half needs to list, watch and delete managedserviceaccounts; to list and watch clusterprofiles; to get, list,
watch, create, patch and delete secrets.

The agent half needs on the hub, in the namespace of its cluster: to get, list and watch managedserviceaccounts and to
patch their status; to get, list, watch, create and update secrets. On the worker, in its own namespace: to get, list,
watch, create and delete serviceaccounts, to create serviceaccounts/token, to create and patch leases; and to create
tokenreviews.
"""

from collections.abc import Sequence

from fleetqueue.embedded.ocm.managed_service_accounts.agent import AddOnLeaseController, TokenController
from fleetqueue.embedded.ocm.managed_service_accounts.ephemeral_identity import EphemeralIdentityController
from fleetqueue.embedded.ocm.managed_service_accounts.profile_secrets import ProfileSecretController
from fleetqueue.embedded.ocm.managed_service_accounts.settings import AgentAccountSettings, HubAccountSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def hub_controllers(hub: Cluster, metrics: Metrics, settings: HubAccountSettings) -> Sequence[Controller]:
    """Return what runs on the hub."""
    wanted: list[Controller] = []
    if settings.ephemeral_identity:
        wanted.append(EphemeralIdentityController(hub, metrics))
    if settings.cluster_profiles:
        wanted.append(ProfileSecretController(hub, metrics))
    return wanted


def agent_controllers(
    worker: Cluster, hub: Cluster, metrics: Metrics, settings: AgentAccountSettings
) -> Sequence[Controller]:
    """Return what runs for one worker; the worker's `name` is that of its ManagedCluster.

    They are to be run by a Manager on the hub, and `worker.run()` beside it.
    """
    return (
        TokenController(worker, hub, metrics, settings),
        AddOnLeaseController(worker, hub, metrics, settings),
    )

"""Wire the controllers together: what OCM's registration does on a hub, and its agent on each worker.

The hub half needs to list, watch and patch managedclusters and managedclustersets, and to create the latter; to list
and watch managedclustersetbindings; to patch the status of all three; to get, list, watch, create and patch namespaces,
clusterroles, clusterrolebindings and rolebindings, and to delete the last three; to list, watch and create leases; all
rights that it gives to agents; to list and watch certificatesigningrequests, to update their approval, and to approve
for the signer kubernetes.io/kube-apiserver-client; to create subjectaccessreviews; to list, watch and delete
managedclusteraddons and manifestworks; and to create and patch events. To accept clusters by itself it also needs to
update managedclusters/accept. What upstream's process does about add-ons (labels of clusters, add-ons of silent
clusters) is in `addons`.

An agent needs on its worker: to list and watch nodes, clusterclaims and namespaces, and to create and patch the
latter; and to get, list, watch, create and patch secrets in its own namespace. On the hub it begins as a user who may
create, get, list and watch certificatesigningrequests, and create and get managedclusters (and may join the set
`default`); all else the hub gives it.
"""

from collections.abc import Sequence

from fleetqueue.client import Client
from fleetqueue.embedded.ocm.registration.agent.agent import Dial, More, RegistrationAgent, no_more
from fleetqueue.embedded.ocm.registration.hub.certificate_approvals import AgentCertificateApprovalController
from fleetqueue.embedded.ocm.registration.hub.cleanup import CleanupController
from fleetqueue.embedded.ocm.registration.hub.cluster_sets import (
    BindingController,
    BuiltInSetController,
    ClusterSetController,
    ManagedNamespaceController,
)
from fleetqueue.embedded.ocm.registration.hub.leases import ClockController, LeaseController
from fleetqueue.embedded.ocm.registration.hub.managed_clusters import ManagedClusterController
from fleetqueue.embedded.ocm.registration.hub.permissions import SharedRoleController
from fleetqueue.embedded.ocm.registration.hub.taints import TaintController
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings, RegistrationHubSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def hub_controllers(hub: Cluster, metrics: Metrics, settings: RegistrationHubSettings) -> Sequence[Controller]:
    """Return the controllers of a hub."""
    sets = [BuiltInSetController(hub, metrics)] if settings.built_in_sets else []
    return (
        ManagedClusterController(hub, metrics, settings),
        SharedRoleController(hub, metrics, settings),
        LeaseController(hub, metrics),
        ClockController(hub, metrics),
        TaintController(hub, metrics),
        CleanupController(hub, metrics),
        AgentCertificateApprovalController(hub, metrics, settings),
        *sets,
        ClusterSetController(hub, metrics),
        BindingController(hub, metrics),
        ManagedNamespaceController(hub, metrics),
    )


def agent(
    worker: Client, dial: Dial, metrics: Metrics, settings: RegistrationAgentSettings, *, more: More = no_more
) -> RegistrationAgent:
    """Return the agent of a worker; `run()` takes it from its bootstrap kubeconfig to its last renewal."""
    return RegistrationAgent(worker, dial, metrics, settings, more=more)

"""Wire the controllers together: OCM's addon manager on the hub, and its registration agent's part for add-ons.

The hub half needs to list, watch, create, patch and delete managedclusteraddons, and to patch their status; to list
and watch clustermanagementaddons, addontemplates, addondeploymentconfigs, managedclusters, placements and
placementdecisions, and to patch the first and their status; to list, watch, create, patch and delete manifestworks; to
get, create and patch rolebindings, and to bind the roles that templates name; to list and watch
certificatesigningrequests, to update their approval, and to approve for their signers.

The agent needs in its cluster's namespace on the hub: to get, list and watch managedclusteraddons and to patch their
status; and to create, get, list and watch certificatesigningrequests. On the worker: to get leases, and to get, create,
patch and delete secrets.
"""

from collections.abc import Sequence

from fleetqueue.embedded.ocm.addons.agent import CredentialController, LeaseHealthController
from fleetqueue.embedded.ocm.addons.certificate_approvals import AddOnCertificateApprovalController
from fleetqueue.embedded.ocm.addons.configuration import ConfigurationController
from fleetqueue.embedded.ocm.addons.deployment import AddOnDeployController
from fleetqueue.embedded.ocm.addons.discovery import AddOnFeatureDiscoveryController
from fleetqueue.embedded.ocm.addons.installation import InstallationController
from fleetqueue.embedded.ocm.addons.progress import ProgressController
from fleetqueue.embedded.ocm.addons.registration import RegistrationController
from fleetqueue.embedded.ocm.addons.settings import AddOnAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


def hub_controllers(hub: Cluster, metrics: Metrics) -> Sequence[Controller]:
    """Return the controllers of a hub, for a Manager of it."""
    return (
        InstallationController(hub, metrics),
        ConfigurationController(hub, metrics),
        RegistrationController(hub, metrics),
        AddOnDeployController(hub, metrics),
        ProgressController(hub, metrics),
        AddOnCertificateApprovalController(hub, metrics),
    )


def registration_controllers(hub: Cluster, metrics: Metrics) -> Sequence[Controller]:
    """Return what OCM's registration controller does about add-ons: it may also patch managedclusters."""
    return (AddOnFeatureDiscoveryController(hub, metrics),)


def agent_controllers(
    hub: Cluster, worker: Cluster, metrics: Metrics, settings: AddOnAgentSettings
) -> Sequence[Controller]:
    """Return the controllers of one worker's agent, for a Manager of the hub; the worker is asked, not followed."""
    return (
        CredentialController(hub, worker, metrics, settings),
        LeaseHealthController(hub, worker, metrics, settings),
    )

"""Wire the controllers together: which sources give credentials on this hub, and which controllers run."""

from collections.abc import Sequence

from fleetqueue.client.transport import connect
from fleetqueue.controllers.credentials.admin_kubeconfigs import AdminKubeconfigs
from fleetqueue.controllers.credentials.cluster_profiles import ClusterProfileController
from fleetqueue.controllers.credentials.hub_apis import CredentialApis
from fleetqueue.controllers.credentials.kubeconfig_secrets import KubeconfigSecretController
from fleetqueue.controllers.credentials.managed_accounts import HeldAddOns, ManagedAccounts
from fleetqueue.controllers.credentials.proofs import Dial, Proofs
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.source import FormerSource, WorkerCredentialSource
from fleetqueue.controllers.credentials.wanted_rights import RightsInUse
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics


class CredentialControllers:
    """The controllers as one part: `controllers` to run."""

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        settings: CredentialsSettings,
        *,
        capabilities: CredentialApis,
        hub_uid: str = "",
        dial: Dial = connect,
    ) -> None:
        proofs = Proofs(dial, settings)
        sources: list[WorkerCredentialSource] = [AdminKubeconfigs(hub, settings, proofs, hub_uid)]
        former: list[FormerSource] = []
        if capabilities.managed_accounts:
            sources.insert(0, ManagedAccounts(hub, settings, proofs))
        else:
            former.append(HeldAddOns(hub))  # their APIs may have been served before
        self.controllers: Sequence[Controller] = [
            KubeconfigSecretController(
                hub,
                metrics,
                settings=settings,
                sources=sources,
                rights=RightsInUse(hub, settings),
                proofs=proofs,
                former=former,
            )
        ]
        if capabilities.profile_fields:
            fields = capabilities.profile_fields
            profiles = ClusterProfileController(hub, metrics, settings=settings, fields=fields)
            self.controllers = [*self.controllers, profiles]

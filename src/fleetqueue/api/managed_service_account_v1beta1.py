"""OCM's ManagedServiceAccount: an account on a worker whose token an agent reports to the hub."""

from datetime import datetime
from typing import ClassVar, Final

from fleetqueue.api import conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

GROUP: Final = "authentication.open-cluster-management.io"
ADD_ON: Final = "managed-serviceaccount"
"""The add-on whose agent does the work; its ManagedClusterAddOn and its lease have this name."""
AGENT_NAMESPACE: Final = "open-cluster-management-agent-addon"
"""Where add-ons run on a worker, and so where the accounts stand, unless the add-on is told otherwise."""
SECRET_CREATED, TOKEN_REPORTED = "SecretCreated", "TokenReported"
TOKEN_KEY, CA_KEY = "token", "ca.crt"
"""The two entries of the secret that the agent writes beside the account, under the account's name."""
MANAGED_LABEL: Final = f"{GROUP}/is-managed-serviceaccount"
"""`true` on what the agent makes: the account on the worker, the secret on the hub."""
SYNC_LABEL: Final = f"{GROUP}/sync-to-clusterprofile"
"""`true` on a ManagedServiceAccount asks for a copy of its token beside the cluster's ClusterProfiles."""
SYNCED_FROM_LABEL: Final = f"{GROUP}/synced-from"
"""On such a copy: `<namespace>-<name>` of the account, which is also the name of the copy."""


class TokenSecretRef(View):
    name: str = ""
    last_refresh_timestamp: datetime | None = None


class ManagedServiceAccountStatus(View):
    conditions: tuple[Condition, ...] = ()
    expiration_timestamp: datetime | None = None
    token_secret_ref: TokenSecretRef | None = None


class Rotation(View):
    validity: str = "8640h0m0s"
    """As Go writes durations."""


class ManagedServiceAccountSpec(View):
    rotation: Rotation = Rotation()
    ttl_seconds_after_creation: int | None = None


class ManagedServiceAccount(Object):
    resource: ClassVar = Resource(GROUP, "v1beta1", "ManagedServiceAccount", "managedserviceaccounts")

    spec: ManagedServiceAccountSpec = ManagedServiceAccountSpec()
    status: ManagedServiceAccountStatus = ManagedServiceAccountStatus()

    @property
    def is_reported(self) -> bool:
        """Tell whether the agent has brought a token to the hub."""
        return conditions.is_true(self.status.conditions, TOKEN_REPORTED)

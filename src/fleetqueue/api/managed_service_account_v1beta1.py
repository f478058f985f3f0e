"""OCM's ManagedServiceAccount: an account on a worker whose token an agent reports to the hub."""

from datetime import datetime
from typing import ClassVar, Final

from fleetqueue.api import conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

GROUP: Final = "authentication.open-cluster-management.io"
TOKEN_REPORTED: Final = "TokenReported"
TOKEN_KEY, CA_KEY = "token", "ca.crt"
"""The two entries of the secret that the agent writes beside the account, under the account's name."""


class TokenSecretRef(View):
    name: str = ""
    last_refresh_timestamp: datetime | None = None


class ManagedServiceAccountStatus(View):
    conditions: tuple[Condition, ...] = ()
    expiration_timestamp: datetime | None = None
    token_secret_ref: TokenSecretRef | None = None


class ManagedServiceAccount(Object):
    resource: ClassVar = Resource(GROUP, "v1beta1", "ManagedServiceAccount", "managedserviceaccounts")

    status: ManagedServiceAccountStatus = ManagedServiceAccountStatus()

    @property
    def is_reported(self) -> bool:
        """Tell whether the agent has brought a token to the hub."""
        return conditions.is_true(self.status.conditions, TOKEN_REPORTED)

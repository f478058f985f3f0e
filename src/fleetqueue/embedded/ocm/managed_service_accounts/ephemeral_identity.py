"""Delete accounts whose time is over.

Reads:   ManagedServiceAccount
Writes:  deletes ManagedServiceAccounts; the secret goes with its owner, the account with its agent
Mirrors: managed-serviceaccount pkg/addon/commoncontroller/ephemeral_identity_controller.go
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount
from fleetqueue.api.meta import split_key
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log

log = Log("managed-service-accounts")


class EphemeralIdentityController(Controller):
    name = "managed-service-account-ephemeral-identity"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedServiceAccount, by_key)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        account = self.hub.get(ManagedServiceAccount, name, namespace)
        end = end_of(account) if account is not None and not account.is_deleting else None
        if account is None or end is None:
            return
        left = (end - clock.now()).total_seconds()
        if left > 0:
            raise errors.RetryLater(left, "the end of the account")
        await self.hub.client.delete(account.resource, name, namespace, uid=account.uid)
        log.info("account ended", cluster=namespace, account=name)


def end_of(account: ManagedServiceAccount) -> datetime | None:
    """Return when an account shall go; None where it shall stay. Its time counts from its creation only."""
    seconds, made = account.spec.ttl_seconds_after_creation, account.metadata.creation_timestamp
    return None if seconds is None or made is None else made + timedelta(seconds=seconds)

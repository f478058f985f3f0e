"""Fill secrets of type service-account-token, and delete them with their account.

Reads:   Secret of type kubernetes.io/service-account-token, ServiceAccount
Writes:  the same Secrets
Mirrors: kubernetes pkg/controller/serviceaccount/tokens_controller.go
"""

import base64
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from fleetqueue.api.authentication_v1 import SUBRESOURCE, issued_token
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.meta import key_of, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

TYPE: Final = "kubernetes.io/service-account-token"
ACCOUNT: Final = "kubernetes.io/service-account.name"
ACCOUNT_UID: Final = "kubernetes.io/service-account.uid"
OF_TYPE: Final = f"type={TYPE}"
BY_ACCOUNT: Final = "account"
YEAR: Final = 365 * 24 * 3600
"""Seconds. Such secrets hold tokens that do not end; the API itself issues none that do not."""


Sign = Callable[[ServiceAccount, Secret], Awaitable[str]]
"""Issues the token for a secret."""

log = Log("account-secrets")


class AccountSecretController(Controller):
    name = "account-secrets"

    def __init__(self, hub: Cluster, metrics: Metrics, *, ca: str, sign: Sign | None = None) -> None:
        super().__init__(hub, metrics)
        self.ca = ca
        self.sign = sign or requested_from(hub.client)
        self.secrets = hub.informer(Secret, fields=OF_TYPE).store
        """Those of type service-account-token."""
        self.secrets.add_index(BY_ACCOUNT, account_of)

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(Secret, by_key, fields=OF_TYPE),
            Watch(
                ServiceAccount,
                lambda account: [s.key for s in self.secrets.by_index(BY_ACCOUNT, account.key)],
            ),
        )

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        secret = self.secrets.get(key)
        account_key = next(iter(account_of(secret)), "") if secret is not None else ""
        if secret is None or secret.is_deleting or not account_key:
            return
        account = await self._account(account_key)
        known = secret.metadata.annotations.get(ACCOUNT_UID, "")
        if account is None or known not in ("", account.uid):
            await self.hub.client.delete(Secret.resource, name, namespace, uid=secret.uid)
            log.info("secret of a missing account deleted", secret=key)
            return
        wanted = {"ca.crt": _text(self.ca), "namespace": _text(namespace)}
        missing = {field: value for field, value in wanted.items() if value and secret.data.get(field) != value}
        if not secret.data.get("token") or not known:
            missing["token"] = _text(await self.sign(account, secret))
        if missing:
            await self._fill(secret, account, missing)

    async def _account(self, key: str) -> ServiceAccount | None:
        """Return an account, read from the API where the cache has none: a secret is not deleted by a stale cache."""
        namespace, name = split_key(key)
        cached = self.hub.get(ServiceAccount, name, namespace)
        if cached is not None:
            return cached
        raw = await self.hub.client.find(ServiceAccount.resource, name, namespace)
        return ServiceAccount.view(raw) if raw is not None else None

    async def _fill(self, secret: Secret, account: ServiceAccount, data: dict[str, str]) -> None:
        metadata = {**secret.precondition, "annotations": {ACCOUNT_UID: account.uid}}
        patch = {"metadata": metadata, "data": data}
        await self.hub.client.merge(Secret.resource, secret.name, secret.namespace, patch)
        log.info("account secret filled", secret=secret.key, account=account.key)


def account_of(secret: Secret) -> Iterable[str]:
    """Return the key of the account whose token a secret is for."""
    name = secret.metadata.annotations.get(ACCOUNT, "")
    return [key_of(secret.namespace, name)] if name and secret.type == TYPE else []


def requested_from(client: Client) -> Sign:
    """Let the API server issue tokens, bound to the secret that holds them."""

    async def sign(account: ServiceAccount, secret: Secret) -> str:
        bound = {"kind": "Secret", "apiVersion": "v1", "name": secret.name, "uid": secret.uid}
        request: Manifest = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"name": account.name, "namespace": account.namespace},
            "spec": {"expirationSeconds": YEAR, "boundObjectRef": bound},
        }
        return issued_token(await client.create(ServiceAccount.resource, request, SUBRESOURCE)).token

    return sign


def _text(value: str) -> str:
    return base64.b64encode(value.encode()).decode()

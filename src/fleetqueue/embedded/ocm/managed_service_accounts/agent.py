"""Keep the account of each ManagedServiceAccount on the worker, and a token of it on the hub that is still good.

Reads:   ManagedServiceAccount, its token secret (hub, the cluster's own namespace); ServiceAccount (worker)
Writes:  the token secret, the status of the ManagedServiceAccount (hub); ServiceAccount, its tokens, and the Lease
         `managed-serviceaccount` (worker)
Mirrors: managed-serviceaccount pkg/addon/agent/controller/token.go, addon-framework pkg/lease

Accounts and secrets are asked for live: they are looked at a few times a day, and a cache that is behind would cost a
second token for the same account.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import micro_timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.managed_service_account_v1beta1 import ADD_ON, MANAGED_LABEL, TOKEN_KEY, ManagedServiceAccount
from fleetqueue.api.meta import Object, changes, precondition_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.managed_service_accounts import tokens
from fleetqueue.embedded.ocm.managed_service_accounts.settings import AgentAccountSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"

log = Log("managed-service-accounts")


class ReportFailed(Exception):
    """A step towards a reported token failed; the text is what the account says of it."""

    def __init__(self, step: str, error: Exception) -> None:
        super().__init__(f"{step}: {error}")
        self.error = error


class TokenController(Controller):
    """Serve one worker; its `name` is that of its ManagedCluster and of its namespace on the hub."""

    name = "managed-service-account-tokens"

    def __init__(self, worker: Cluster, hub: Cluster, metrics: Metrics, settings: AgentAccountSettings) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedServiceAccount, _name, namespace=self.worker.name)
        yield Watch(Secret, _name, namespace=self.worker.name, labels=f"{MANAGED_LABEL}=true")

    def subscribe(self) -> None:
        super().subscribe()
        accounts = self.worker.informer(
            ServiceAccount, namespace=self.settings.namespace, labels=f"{MANAGED_LABEL}=true"
        )
        accounts.subscribe(self._see_account)

    async def reconcile(self, key: str) -> None:
        raw = await self.hub.client.find(ManagedServiceAccount.resource, key, self.worker.name)
        if raw is None:
            await self._remove_account(key)
            return
        account = ManagedServiceAccount.view(raw)
        await self._ensure_account(key)
        try:
            expires = await self._refresh(account)
        except ReportFailed as failed:
            await self._write(raw, tokens.failed(_conditions(raw), str(failed), clock.now()))
            raise failed.error from failed
        account = await self._report(raw, account, expires)
        raise errors.RetryLater(tokens.next_look(account, clock.now()), "the next look at the token")

    def _see_account(self, old: ServiceAccount | None, new: ServiceAccount | None) -> None:
        seen = new or old
        if seen is not None and (old is None or new is None):
            self.wake(seen.name)

    # On the worker

    async def _ensure_account(self, name: str) -> None:
        if self.worker.get(ServiceAccount, name, self.settings.namespace) is None:
            try:
                manifest = tokens.account_manifest(name, self.settings.namespace)
                await self.worker.client.create(ServiceAccount.resource, manifest)
            except errors.AlreadyExists:
                return
            log.info("account made", cluster=self.worker.name, account=name)

    async def _remove_account(self, name: str) -> None:
        raw = await self.worker.client.find(ServiceAccount.resource, name, self.settings.namespace)
        live = ServiceAccount.view(raw) if raw else None
        if live is None or live.metadata.labels.get(MANAGED_LABEL) != "true":
            return
        await self.worker.client.delete(live.resource, name, live.namespace, uid=live.uid)
        log.info("account removed", cluster=self.worker.name, account=name)

    async def _is_refused(self, token: str) -> bool:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = await self.worker.client.post(TOKEN_REVIEWS, review)
        return not (answer.get("status") or {}).get("authenticated")

    async def _issue(self, account: ManagedServiceAccount) -> Manifest:
        """Return the status of a new token: itself, and its end."""
        step = "failed to request token for service-account"
        try:
            request = tokens.token_request(account, self.settings.namespace)
            answer = await self.worker.client.create(ServiceAccount.resource, request, subresource="token")
        except ValueError as error:
            raise ReportFailed(step, errors.TerminalError(str(error))) from error
        except (errors.ApiError, errors.Unreachable) as error:
            raise ReportFailed(step, error) from error
        issued: Manifest = answer["status"]
        return issued

    # From the worker to the hub

    async def _refresh(self, account: ManagedServiceAccount) -> datetime | None:
        """Bring a new token to the hub where one is due; return when it ends, or None where the old one stays."""
        live = await self._token_secret(account)
        if not await self._needs_token(account, Secret.view(live) if live else None):
            return None
        issued = await self._issue(account)
        await self._write_secret(live, tokens.secret_manifest(account, token=issued["token"], ca=self.settings.ca))
        log.info("token reported", cluster=self.worker.name, account=account.name, until=issued["expirationTimestamp"])
        return datetime.fromisoformat(issued["expirationTimestamp"])

    async def _token_secret(self, account: ManagedServiceAccount) -> Manifest | None:
        try:
            return await self.hub.client.find(Secret.resource, account.name, account.namespace)
        except (errors.ApiError, errors.Unreachable) as error:
            raise ReportFailed("failed to read current token secret from hub cluster", error) from error

    async def _needs_token(self, account: ManagedServiceAccount, live: Secret | None) -> bool:
        if live is None or tokens.is_due(account, live, self.settings.namespace, clock.now()):
            return True
        try:
            return await self._is_refused(live.text(TOKEN_KEY) or "")
        except (errors.ApiError, errors.Unreachable) as error:
            raise ReportFailed("failed to make a decision on token creation", error) from error

    async def _write_secret(self, live: Manifest | None, wanted: Manifest) -> None:
        client, verb = self.hub.client, "create" if live is None else "update"
        try:
            if live is None:
                await client.create(Secret.resource, wanted)
            else:  # not a patch: OCM's role for the agent has no right to that
                await client.update(Secret.resource, tokens.rewritten(live, wanted))
        except (errors.ApiError, errors.Unreachable) as error:
            raise ReportFailed(f"failed to {verb} the token secret", error) from error

    # What the account says of itself

    async def _report(
        self, raw: Manifest, account: ManagedServiceAccount, expires: datetime | None
    ) -> ManagedServiceAccount:
        """Say that the token is on the hub, a new one or the old one; return the account as it is then."""
        now = clock.now().replace(microsecond=0)
        reference, until = account.status.token_secret_ref, account.status.expiration_timestamp
        refreshed = now if expires or reference is None else reference.last_refresh_timestamp
        status = tokens.reported(
            account.name, _conditions(raw), refreshed=refreshed or now, expires=expires or until or now, now=now
        )
        return ManagedServiceAccount.view(await self._write(raw, status))

    async def _write(self, raw: Manifest, status: Manifest) -> Manifest:
        """Write what differs, only over what was seen; return what is there then."""
        patch = changes(raw.get("status") or {}, status)
        if not patch:
            return raw
        metadata = raw["metadata"]
        return await self.hub.client.merge(
            ManagedServiceAccount.resource,
            metadata["name"],
            metadata["namespace"],
            {"metadata": precondition_of(metadata), "status": patch},
            subresource="status",
        )


def _conditions(raw: Manifest) -> list[Manifest]:
    return (raw.get("status") or {}).get("conditions") or []


def _name(obj: Object) -> Iterable[str]:
    return (obj.name,)


DURATION: Final = 60
"""Seconds, as every add-on of OCM writes it."""
SPREAD: Final = 1.25
"""By how much a pause between two renewals may be longer, so that not all agents write at once."""


class AddOnLeaseController(Controller):
    """Says on the worker that the add-on's agent is alive; OCM's registration agent makes Available of it."""

    name = "managed-service-account-lease"

    def __init__(self, worker: Cluster, hub: Cluster, metrics: Metrics, settings: AgentAccountSettings) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        return ()

    async def work(self) -> None:
        self.wake(ADD_ON)
        await super().work()

    async def reconcile(self, key: str) -> None:
        await self._renew(key)
        pause = clock.between(self.settings.lease_seconds, SPREAD * self.settings.lease_seconds)
        raise errors.RetryLater(pause, "the next renewal")

    async def _renew(self, name: str) -> None:
        client, namespace = self.worker.client, self.settings.namespace
        moment = micro_timestamp(clock.now())
        try:
            await client.merge(Lease.resource, name, namespace, {"spec": {"renewTime": moment}})
        except errors.NotFound:
            spec = {"leaseDurationSeconds": DURATION, "renewTime": moment}
            await client.create(Lease.resource, Lease.manifest(name, namespace, spec=spec))

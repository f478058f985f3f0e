"""Credentials that we issue ourselves, with the admin kubeconfig of a worker that was given at `join`.

Reads:   the admin secrets in our namespace; at a withdrawal, the kubeconfig secrets of other names of the same worker
Writes:  ServiceAccount, ClusterRole, ClusterRoleBinding and tokens on the worker; a mark on the admin secret

The mark says that something of ours stands on the worker. It is written before anything is made there and goes after
everything is removed, so that a crash in between leaves nothing behind unseen.

A worker may be managed under several names, which share the account there: the last of them to go removes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, KUBECONFIG_KEY, admin_secret, credentials_secret
from fleetqueue.api.meta import key_of
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, KubeconfigError, parse
from fleetqueue.controllers.credentials import messages, secret_content
from fleetqueue.controllers.credentials.accounts import (
    ACCOUNT_NAME,
    AccountChange,
    WorkerAccount,
    account_of,
    grant,
    granted,
    hubs_of_same_origin,
    issue,
    revoke,
)
from fleetqueue.controllers.credentials.endpoints import Endpoint, endpoint, refusal
from fleetqueue.controllers.credentials.problems import CredentialProblem
from fleetqueue.controllers.credentials.proofs import PATIENCE, Proofs, identity
from fleetqueue.controllers.credentials.secret_content import Issued
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.worker_rules import Rights, widened
from fleetqueue.runtime.cluster import LABELLED_OURS, Cluster, is_ours, is_released
from fleetqueue.runtime.controller import Watch
from fleetqueue.runtime.logs import Log

IN_USE: Final = "fleetqueue.dev/in-use"
"""Annotation on an admin secret: something of ours stands on the worker."""
UNREACHABLE_RETRY: Final = 60.0
UNSEEN_SECONDS: Final = 10.0
"""How long a token that we issued is used again where the cache shows none: it may be behind, or the hub may be slow to
take the secret. Who deletes a secret later than this gets a new token."""

log = Log("credentials")


class AdminKubeconfigs:
    name = "admin-kubeconfig"

    def __init__(self, hub: Cluster, settings: CredentialsSettings, proofs: Proofs, hub_uid: str = "") -> None:
        """`hub_uid`: who the hub is, so that hubs that share a worker do not share an account there."""
        self._hub = hub
        self._settings = settings
        self._proofs = proofs
        self._account = account_of(hub_uid, settings.worker_namespace)
        self._former = WorkerAccount(ACCOUNT_NAME, settings.worker_namespace, hub_uid)
        """What the account was called before its name told the hub."""
        self._last: dict[str, Issued] = {}

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(Secret, _cluster_of, namespace=self._settings.namespace, labels=LABELLED_OURS)

    async def credential(
        self, cluster: ManagedCluster, current: Issued | None, rights: Rights, *, doubted: bool
    ) -> Issued:
        secret = self._secret(cluster.name)
        if secret is None:
            name = f"{self._settings.namespace}/{admin_secret(cluster.name)}"
            raise CredentialProblem(f'no admin kubeconfig: give it with "fleetqueue join", which writes secret {name}')
        admin = admin_connection(secret)
        where = endpoint(cluster, admin)
        if why := refusal(where.server):
            raise CredentialProblem(f"Kueue would refuse the cluster's address: {why}")
        kept = self._kept(cluster.name, current, where) or self._kept(cluster.name, self._unseen(cluster.name), where)
        if kept is not None and self._proofs.is_recent(cluster.name, kept.kubeconfig, rights, doubted=doubted):
            return kept
        if not self._has_former(secret):
            await self._mark(secret, self._account.name)
        is_written = kept is not None and current is not None
        try:
            async with self._proofs.open(admin) as worker:
                credential = await self._renew(worker, cluster.name, kept, where, rights)
                if is_written and credential is kept and self._has_former(secret):
                    await self._remove_former(worker, secret)
                await self._warn_of_same_origin(worker, cluster, rights.origin)
            return credential
        except errors.Unauthorized as error:
            raise CredentialProblem(
                'the worker does not accept the admin kubeconfig any more; give a new one with "fleetqueue join"'
            ) from error

    async def withdraw(self, cluster: str, *, is_gone: bool) -> bool:
        secret = self._secret(cluster)
        if secret is None or IN_USE not in secret.metadata.annotations:
            return False
        self._proofs.forget(cluster)
        self._last.pop(cluster, None)
        try:
            async with self._proofs.open(admin_connection(secret)) as worker:
                await self._revoke_unused(worker, cluster, secret)
        except (errors.ApiError, CredentialProblem) as error:
            if not is_gone:
                raise errors.RetryLater(UNREACHABLE_RETRY, f"the worker is not cleaned yet: {error}") from error
            log.warning("worker left as it is", cluster=cluster, error=error)
        if is_gone:
            await self._hub.ensure_absent(secret)
        else:
            await self._mark(secret, None)
        return True

    async def _revoke_unused(self, worker: Client, cluster: str, secret: Secret) -> None:
        """Remove our accounts from the worker, but for those that the credential of another name of it uses."""
        in_use = await self._accounts_in_use(await identity(worker), besides=cluster)
        for account in (self._account, *([self._former] if self._has_former(secret) else ())):
            if account.name in in_use:
                log.info("account stays", cluster=cluster, account=account.name, used_by=in_use[account.name])
            else:
                await revoke(worker, account)

    async def _accounts_in_use(self, uid: str, *, besides: str) -> Mapping[str, str]:
        """Look into the cache, and live where it shows any: of two names that go at a time, one must see it."""
        in_use = accounts_in_use(self._hub.list(Secret, self._settings.kueue_namespace), uid, besides=besides)
        if in_use:
            try:
                live = await self._hub.client.list(Secret.resource, self._settings.kueue_namespace)
            except (errors.ApiError, errors.Unreachable) as error:  # of the hub: no reason to give the worker up
                raise errors.RetryLater(
                    UNREACHABLE_RETRY, f"who else uses the account is not known: {error}"
                ) from error
            in_use = accounts_in_use(map(Secret.view, live.items), uid, besides=besides)
        return in_use

    def _secret(self, cluster: str) -> Secret | None:
        namespace = self._settings.namespace
        secrets = self._hub.informer(Secret, namespace=namespace, labels=LABELLED_OURS).store
        return secrets.get(key_of(namespace, admin_secret(cluster)))

    def _kept(self, cluster: str, current: Issued | None, where: Endpoint) -> Issued | None:
        """Return the current credential, for where the worker is now; None where a new token is due."""
        if current is None or clock.now() >= current.renewal:
            return None
        connection = parse(current.kubeconfig)
        if connection.user != self._account.name:
            return None
        return replace(current, kubeconfig=self._kubeconfig(cluster, where, connection.token))

    def _unseen(self, cluster: str) -> Issued | None:
        """Return the credential that was issued a moment ago, if there is one."""
        last = self._last.get(cluster)
        return last if last and (clock.now() - last.issued).total_seconds() < UNSEEN_SECONDS else None

    async def _renew(
        self, worker: Client, cluster: str, kept: Issued | None, where: Endpoint, rights: Rights
    ) -> Issued:
        """Put the account right, and keep the credential where it works."""
        before = await self._granted(worker) if rights.only_adds else ()
        account = replace(self._account, origin=rights.origin)
        change = await grant(worker, account, widened(rights.rules, before))
        if kept is None:
            return await self._issue(worker, cluster, where, rights)
        because = "its account on the worker was gone"
        if change is not AccountChange.ACCOUNT:
            patience = PATIENCE if change is AccountChange.RIGHTS else (0.0,)
            why = await self._proofs.refusal(cluster, kept.kubeconfig, rights, patience=patience)
            if not why:
                return kept
            because = messages.because_refused(why)
        return replace(await self._issue(worker, cluster, where, rights), because=because)

    async def _granted(self, worker: Client) -> Sequence[Mapping[str, Any]]:
        """Return what the account may do now, or the one of the former name where there is no other yet."""
        return await granted(worker, self._account) or await granted(worker, self._former)

    def _has_former(self, secret: Secret) -> bool:
        """Tell whether an account of the former name may stand on the worker; the mark was "true" then."""
        return secret.metadata.annotations.get(IN_USE) in ("true", self._former.name) and bool(self._account.hub)

    async def _remove_former(self, worker: Client, secret: Secret) -> None:
        """Remove the account of the former name, when a secret with the new one is written and works; once.

        Nobody can tell whether another hub, of an older version, uses it as well: that one makes it again by itself.
        """
        await revoke(worker, self._former)
        await self._mark(secret, self._account.name)

    async def _warn_of_same_origin(self, worker: Client, cluster: ManagedCluster, origin: str) -> None:
        if not self._account.hub:
            return
        if others := await hubs_of_same_origin(worker, replace(self._account, origin=origin)):
            await self._hub.events.warning(cluster, *messages.same_origin(origin, others))

    async def _issue(self, worker: Client, cluster: str, where: Endpoint, rights: Rights) -> Issued:
        now = clock.now().replace(microsecond=0)
        token = await issue(worker, self._account, self._settings.lifetime)
        kubeconfig = self._kubeconfig(cluster, where, token.token)
        why = await self._proofs.refusal(cluster, kubeconfig, rights)
        if why:
            raise CredentialProblem(f"a new credential does not work: {why}")
        # By our own clock, which also decides about the renewal: the worker's may be hours away.
        self._last[cluster] = Issued(kubeconfig, now, now + timedelta(seconds=token.seconds), self.name)
        return self._last[cluster]

    def _kubeconfig(self, cluster: str, where: Endpoint, token: str) -> str:
        return where.kubeconfig(cluster, token=token, user=self._account.name)

    async def _mark(self, secret: Secret, value: str | None) -> None:
        if secret.metadata.annotations.get(IN_USE) == value:
            return
        metadata = {"uid": secret.uid, "annotations": {IN_USE: value}}
        await self._hub.client.merge(secret.resource, secret.name, secret.namespace, {"metadata": metadata})


def accounts_in_use(secrets: Iterable[Secret], uid: str, *, besides: str) -> dict[str, str]:
    """Return the accounts on a cluster that credentials of other names of it use, each with a secret that does.

    `uid`: which cluster. A secret that a purge let go counts as well: Kueue goes on with it.
    """
    return {
        parse(credential.kubeconfig).user: secret.name
        for secret in secrets
        if secret.name != credentials_secret(besides) and (is_ours(secret) or is_released(secret))
        if not secret.is_deleting
        if (credential := secret_content.read(secret)) is not None and credential.cluster_uid == uid
    }


def admin_connection(secret: Secret) -> Connection:
    """Read an admin kubeconfig; it may not name programs or files, which would be run or read on the hub."""
    if KUBECONFIG_KEY not in secret.data:
        raise CredentialProblem(f'{secret} has no key "{KUBECONFIG_KEY}"')
    try:
        return parse(secret.text(KUBECONFIG_KEY) or "")
    except (KubeconfigError, ValueError) as error:
        raise CredentialProblem(f"{secret}: {error}") from error


def _cluster_of(secret: Secret) -> Iterable[str]:
    name = secret.metadata.labels.get(CLUSTER_LABEL, "")
    return (name,) if name else ()

"""Credentials that OCM's managed-serviceaccount add-on brings: its agent issues and renews the token on the worker.

Reads:   ManagedServiceAccount, ClusterPermission, the token secret beside the account
Writes:  ManagedServiceAccount, ClusterPermission in the cluster's namespace; a finalizer on the ManagedClusterAddOn
Mirrors: addon-contrib, kueue-addon/pkg/hub/controllers/kueuesecretgen and kueuesecretcopy

The token secret is read by its name when the account's status says that there is a new one, and at every look. It is
not watched: that would need the right to read every secret of the hub.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import durations, errors
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import ConfigMap, Secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, REFUSED
from fleetqueue.api.managed_service_account_v1beta1 import CA_KEY, GROUP, TOKEN_KEY, ManagedServiceAccount
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.credentials import messages
from fleetqueue.controllers.credentials.endpoints import Endpoint, advertised_server
from fleetqueue.controllers.credentials.problems import CredentialPending, CredentialProblem, CredentialWithdrawn
from fleetqueue.controllers.credentials.proofs import NOT_ACCEPTED, Proofs
from fleetqueue.controllers.credentials.secret_content import Issued
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.worker_rules import PolicyRule, Rights, widened
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.controller import Watch

ADD_ON: Final = "managed-serviceaccount"
IN_USE: Final = "fleetqueue.dev/credentials"
"""Finalizer on the ManagedClusterAddOn of a cluster: a credential of ours comes from there, and is in use."""
GRACE_SECONDS: Final = 30.0
"""How long OCM's agents may take before anybody hears of it, or another source is asked; they take about a second."""
AGENT_SECONDS: Final = 10.0
"""How long the agent may take to remove an account from a worker that it is about to leave itself."""
HUB_CA: Final = "kube-root-ca.crt"
"""The ConfigMap with which every namespace knows the hub's certificate authority."""


class HeldAddOns:
    """Hold the add-on on a cluster, by a finalizer, while its tokens are in use.

    When a ManagedCluster is deleted, OCM deletes its add-ons first, and works and rights only when these are gone. With
    the agent go its accounts on the worker, long before jobs that run there have ended. On a hub that does not serve
    managed service accounts any more, the finalizers are all that is left to remove.
    """

    def __init__(self, hub: Cluster) -> None:
        self._hub = hub
        self._released: set[str] = set()
        """Clusters whose add-on is not held; only `hold` changes that, so they are not asked for at every event."""

    async def hold(self, cluster: str) -> None:
        """Let nobody take the add-on away."""
        add_on = await self.find(cluster)
        if add_on is not None and not add_on.is_deleting:
            self._released.discard(cluster)
            await self._hub.add_finalizer(add_on, IN_USE)

    async def withdraw(self, cluster: str, *, is_gone: bool) -> bool:
        """Let the add-on go; return whether it was held."""
        if cluster in self._released:
            return False
        add_on = await self.find(cluster)
        was_held = add_on is not None and await self._hub.remove_finalizer(add_on, IN_USE)
        if not is_gone:
            self._released.add(cluster)
        return was_held

    async def find(self, cluster: str) -> ManagedClusterAddOn | None:
        """Read the add-on of a cluster, live: to follow those of a thousand clusters for this would cost more."""
        raw = await self._hub.client.find(ManagedClusterAddOn.resource, ADD_ON, cluster)
        return ManagedClusterAddOn.view(raw) if raw else None  # installed in another way, or no add-ons are served


class ManagedAccounts:
    name = "managed-service-account"

    def __init__(self, hub: Cluster, settings: CredentialsSettings, proofs: Proofs) -> None:
        self._hub = hub
        self._settings = settings
        self._proofs = proofs
        self._add_ons = HeldAddOns(hub)
        self._changed: dict[str, float] = {}
        """When the permission of each cluster was last changed; OCM brings it to the worker after that."""
        self._refused: dict[str, str] = {}
        """Why the last token of a cluster was refused, until there is one that works."""
        self._removed: dict[str, float] = {}
        """When we deleted the account of a cluster whose add-on is to go as well."""

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedServiceAccount, _cluster_of)
        yield Watch(ClusterPermission, _cluster_of)

    async def credential(
        self, cluster: ManagedCluster, current: Issued | None, rights: Rights, *, doubted: bool
    ) -> Issued:
        name = account_name(cluster.name)
        account = self._hub.get(ManagedServiceAccount, name, cluster.name)
        permission = self._hub.get(ClusterPermission, name, cluster.name)
        before = permission.spec.cluster_role if permission is not None and rights.only_adds else None
        rules = widened(rights.rules, before.rules if before is not None else ())
        if cluster.is_deleting and account is not None and not is_ours(account):
            raise CredentialProblem(f"{account} exists and was not made by fleetqueue; rename or delete it")
        if not cluster.is_deleting:
            # The account first: a permission that names an account which is not there yet is not looked at again.
            await self._hub.ensure(ManagedServiceAccount, account_manifest(cluster.name, self._settings.lifetime))
        # OCM still brings a change to a worker that is leaving, since its add-on is held; nothing is made anew for it.
        if not cluster.is_deleting or (permission is not None and is_ours(permission)):
            written = await self._hub.ensure(ClusterPermission, permission_manifest(cluster.name, rules))
            if written and permission is not None:
                self._changed[cluster.name] = clock.monotonic()
        if account is None or permission is None:
            missing = "ManagedServiceAccount" if account is None else "ClusterPermission"
            if cluster.is_deleting:
                raise CredentialProblem(f'{missing} "{cluster.name}/{name}" is gone, as its cluster is leaving')
            problem = CredentialPending if current is None else CredentialWithdrawn
            raise problem(f'{missing} "{cluster.name}/{name}" was not there; it is made now')
        credential = await self._reported(cluster, account, permission)
        if not self._proofs.is_recent(cluster.name, credential.kubeconfig, rights, doubted=doubted):
            why = await self._proofs.refusal(cluster.name, credential.kubeconfig, rights)
            if why == NOT_ACCEPTED:
                self._refused[cluster.name] = messages.because_refused(why)
                await self._ask_for_another_token(account)
            if why:
                is_new = clock.monotonic() - self._changed.get(cluster.name, -inf) < GRACE_SECONDS
                message = f"the token of {account} does not work: {why}"
                raise CredentialPending(message) if is_new else CredentialProblem(message)
        if not cluster.is_deleting:
            await self._add_ons.hold(cluster.name)
        return replace(credential, because=self._refused.pop(cluster.name, ""))

    async def withdraw(self, cluster: str, *, is_gone: bool) -> bool:
        self._proofs.forget(cluster)
        self._changed.pop(cluster, None)
        self._refused.pop(cluster, None)
        name = account_name(cluster)
        account = self._hub.get(ManagedServiceAccount, name, cluster)
        permission = self._hub.get(ClusterPermission, name, cluster)
        add_on = await self._add_ons.find(cluster) if permission is not None else None
        if add_on is not None and add_on.is_deleting:
            # The permission stays meanwhile: it tells, also after a crash, that the agent is to be waited for.
            if account is not None and await self._hub.ensure_absent(account):
                self._removed[cluster] = clock.monotonic()
            if (left := self._removed.get(cluster, -inf) + AGENT_SECONDS - clock.monotonic()) > 0:
                raise errors.RetryLater(left, "the agent removes the account on the worker before it goes itself")
        self._removed.pop(cluster, None)
        was_held = await self._add_ons.withdraw(cluster, is_gone=is_gone)
        removed = [await self._hub.ensure_absent(obj) for obj in (permission, account) if obj is not None]
        return was_held or any(removed)

    async def _reported(
        self, cluster: ManagedCluster, account: ManagedServiceAccount, permission: ClusterPermission
    ) -> Issued:
        """Build the credential from what the agent has brought; raises where it is not all there."""
        reference, expires = account.status.token_secret_ref, account.status.expiration_timestamp
        if not account.is_reported or reference is None or expires is None:
            raise not_yet(f"{account} has no token yet; is the add-on managed-serviceaccount available there?", account)
        if not permission.is_applied:
            raise not_yet(f"{permission} is not applied on the worker yet", permission)
        secret = await self._token_secret(account, reference.name)
        token, ca = _entry(secret, TOKEN_KEY), _entry(secret, CA_KEY)
        where = await self._endpoint(cluster, ca)
        issued = reference.last_refresh_timestamp or secret.metadata.creation_timestamp or expires
        return Issued(where.kubeconfig(cluster.name, token=token, user=account.name), issued, expires, self.name)

    async def _ask_for_another_token(self, account: ManagedServiceAccount) -> None:
        """Make the agent look at its token, at most once a minute.

        It looks when the account on the worker is deleted, but the worker still takes the token then, for ten seconds;
        without this it would not look again before the token's time is over.
        """
        minute = timestamp(clock.now().replace(second=0))
        if account.metadata.annotations.get(REFUSED) != minute:
            patch = {"metadata": {"uid": account.uid, "annotations": {REFUSED: minute}}}
            await self._hub.client.merge(account.resource, account.name, account.namespace, patch)

    async def _token_secret(self, account: ManagedServiceAccount, name: str) -> Secret:
        try:
            return Secret.view(await self._hub.client.get(Secret.resource, name, account.namespace))
        except errors.NotFound as error:
            raise CredentialWithdrawn(f"the token secret of {account} is gone; its agent writes it anew") from error
        except errors.Forbidden as error:
            raise CredentialProblem(
                f"the token secret of {account} may not be read; give the controller the role of"
                f" controller_role_cluster_namespace.yaml in namespace {account.namespace} ({error})"
            ) from error

    async def _endpoint(self, cluster: ManagedCluster, ca: str) -> Endpoint:
        if not self._settings.cluster_proxy_url:
            return Endpoint(advertised_server(cluster), ca.encode())
        raw = await self._hub.client.get(ConfigMap.resource, HUB_CA, self._settings.kueue_namespace)
        hub_ca = ConfigMap.view(raw).data.get(CA_KEY, "")
        return Endpoint(f"{self._settings.cluster_proxy_url.rstrip('/')}/{cluster.name}", hub_ca.encode())


def not_yet(why: str, obj: Object) -> CredentialProblem:
    """Return the problem that somebody has not done his part; none to speak of while the object is new."""
    made = obj.metadata.creation_timestamp
    is_new = made is not None and (clock.now() - made).total_seconds() < GRACE_SECONDS
    return CredentialPending(why) if is_new else CredentialProblem(why)


def account_name(cluster: str) -> str:
    """Name the account, its permission, and its token secret, in the cluster's namespace."""
    return f"kueue-admin-{cluster}"


def account_manifest(cluster: str, lifetime: int) -> Manifest:
    rotation = {"enabled": True, "validity": durations.written(lifetime)}
    return ManagedServiceAccount.manifest(
        account_name(cluster), cluster, labels={CLUSTER_LABEL: cluster}, spec={"rotation": rotation}
    )


def permission_manifest(cluster: str, rules: Sequence[PolicyRule]) -> Manifest:
    """Bind the rules to the account by its own kind, so that it may be installed in any namespace of the worker."""
    name = account_name(cluster)
    subject = {"apiGroup": GROUP, "kind": "ManagedServiceAccount", "name": name}
    return ClusterPermission.manifest(
        name,
        cluster,
        labels={CLUSTER_LABEL: cluster},
        spec={
            "clusterRole": {"rules": [rule.manifest() for rule in rules]},
            "clusterRoleBinding": {"subject": subject},
        },
    )


def _entry(secret: Secret, key: str) -> str:
    value = secret.text(key)
    if not value:
        raise CredentialProblem(f"{key} not found in secret {secret.name}")
    return value


def _cluster_of(obj: Object) -> Iterable[str]:
    return (obj.namespace,) if obj.name == account_name(obj.namespace) else ()

"""Copy the tokens of accounts that ask for it to where the ClusterProfiles of their cluster stand.

Whoever finds clusters through the inventory, such as Kueue, may read secrets beside the profiles and nowhere else.

Reads:   ClusterProfile, ManagedServiceAccount, the token secrets of all clusters
Writes:  Secret `<cluster>-<account>` in the namespace of each profile; one whose account is gone is deleted
Mirrors: managed-serviceaccount pkg/addon/manager/controller/clusterprofile_cred_syncer.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.inventory_v1alpha1 import MANAGER_LABEL, OCM_CLUSTER_LABEL, OCM_MANAGER, ClusterProfile
from fleetqueue.api.managed_service_account_v1beta1 import (
    MANAGED_LABEL,
    SYNC_LABEL,
    SYNCED_FROM_LABEL,
    ManagedServiceAccount,
)
from fleetqueue.api.meta import Object, key_of, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.store import Store

MANAGED: Final = f"{MANAGED_LABEL}=true"
"""The label selector of the token secrets that agents write."""

log = Log("managed-service-accounts")


class ProfileSecretController(Controller):
    name = "cluster-profile-secrets"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ClusterProfile, by_key)
        yield Watch(ManagedServiceAccount, self._profiles)
        yield Watch(Secret, self._profiles, labels=MANAGED)
        yield Watch(Secret, self._profiles_beside, labels=SYNCED_FROM_LABEL)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        profile = self.hub.get(ClusterProfile, name, namespace)
        if profile is None or profile.is_deleting or not is_served(profile):
            return
        accounts = [candidate for candidate in self.hub.list(ManagedServiceAccount, name) if is_wanted(candidate)]
        for account in accounts:
            await self._copy(profile, account)
        await self._clean(profile, {copy_name(account) for account in accounts})

    async def _copy(self, profile: ClusterProfile, account: ManagedServiceAccount) -> None:
        reference = account.status.token_secret_ref
        source = self._secrets(MANAGED).get(key_of(account.namespace, reference.name)) if reference else None
        if source is None:
            return
        wanted = copy_manifest(profile, account, source)
        live = self._secrets(SYNCED_FROM_LABEL).get(key_of(profile.namespace, copy_name(account)))
        if live is not None and live.data == source.data and is_owned(live, profile):
            return
        if live is None:
            live = await self._create(wanted)
        if live is not None:
            await self.hub.client.merge(Secret.resource, live.name, live.namespace, _patch(live, wanted))
        log.info("token copied", cluster=account.namespace, account=account.name, to=profile.namespace)

    async def _create(self, wanted: Manifest) -> Secret | None:
        """Create a copy; return what has its name already, which may only have lost our label."""
        try:
            await self.hub.client.create(Secret.resource, wanted)
        except errors.AlreadyExists:
            metadata = wanted["metadata"]
            return Secret.view(await self.hub.client.get(Secret.resource, metadata["name"], metadata["namespace"]))
        return None

    async def _clean(self, profile: ClusterProfile, wanted: set[str]) -> None:
        for secret in self._secrets(SYNCED_FROM_LABEL).all():
            source = secret.metadata.labels.get(SYNCED_FROM_LABEL, "")
            if (
                secret.namespace != profile.namespace
                or source in wanted
                or secret.is_deleting
                or not is_owned(secret, profile)
            ):
                continue
            if await self.hub.client.delete_seen(secret):
                log.info("copied token removed", cluster=profile.name, secret=secret.key)

    def _secrets(self, labels: str) -> Store[Secret]:
        return self.hub.informer(Secret, labels=labels).store

    def _profiles(self, obj: Object) -> Iterable[str]:
        """Return the profiles of the cluster in whose namespace an object stands."""
        return [profile.key for profile in self.hub.list(ClusterProfile) if profile.name == obj.namespace]

    def _profiles_beside(self, copy: Secret) -> Iterable[str]:
        owners = copy.metadata.owner_references
        return [key_of(copy.namespace, owner.name) for owner in owners if owner.kind == ClusterProfile.resource.kind]


def is_served(profile: ClusterProfile) -> bool:
    labels = profile.metadata.labels
    return labels.get(MANAGER_LABEL) == OCM_MANAGER and OCM_CLUSTER_LABEL in labels


def is_wanted(account: ManagedServiceAccount) -> bool:
    return account.metadata.labels.get(SYNC_LABEL) == "true"


def is_owned(secret: Secret, profile: ClusterProfile) -> bool:
    return any(owner.uid == profile.uid for owner in secret.metadata.owner_references)


def copy_name(account: ManagedServiceAccount) -> str:
    return f"{account.namespace}-{account.name}"


def copy_manifest(profile: ClusterProfile, account: ManagedServiceAccount, source: Secret) -> Manifest:
    """Build the copy; it goes when the profile goes."""
    name, resource = copy_name(account), profile.resource
    manifest = Secret.manifest(
        name, profile.namespace, labels={SYNCED_FROM_LABEL: name}, type="Opaque", data=dict(source.data)
    )
    owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": profile.name, "uid": profile.uid}
    manifest["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return manifest


def _patch(live: Secret, wanted: Manifest) -> Manifest:
    metadata = {key: wanted["metadata"][key] for key in ("labels", "ownerReferences")}
    gone = dict.fromkeys(sorted(set(live.data) - set(wanted["data"])))
    return {"metadata": {**metadata, **live.precondition}, "data": {**wanted["data"], **gone}}

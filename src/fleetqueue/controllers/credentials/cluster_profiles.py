"""Tell the ClusterProfile of each cluster how to reach it, for those who find clusters through the inventory.

Reads:   ClusterProfile, the kubeconfig secrets
Writes:  our own entries in the ClusterProfile's status
Mirrors: the OCM fork of the walkthroughs (`status.credentials`); cluster-proxy (`status.accessProviders`)

The lists are read, changed in our own entry, and written back with their resourceVersion. A server-side apply would be
shorter, but in the CRDs before 2026 these lists have no keys, and it would then throw out the entries of others.
"""

import base64
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import ACCESS_PROVIDER, KUBECONFIG_KEY, credentials_secret
from fleetqueue.api.inventory_v1alpha1 import EXEC_EXTENSION, ClusterProfile
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.kubeconfig import parse
from fleetqueue.controllers.credentials import secret_content
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.who_needs_one import cluster_of_secret
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

CONSUMER: Final = "kueue-admin"
ACCESS_PROVIDERS, CREDENTIALS = "accessProviders", "credentials"

log = Log("credentials")


class ClusterProfileController(Controller):
    name = "cluster-profiles"

    def __init__(
        self, hub: Cluster, metrics: Metrics, *, settings: CredentialsSettings, fields: Collection[str]
    ) -> None:
        """`fields`: those of the status that the hub's CRD knows; it would drop any other."""
        super().__init__(hub, metrics)
        self.settings = settings
        self.fields = fields

    def watches(self) -> Iterable[Watch[Any]]:
        namespace = self.settings.kueue_namespace
        yield Watch(ClusterProfile, _name, namespace=namespace)
        yield Watch(Secret, lambda secret: cluster_of_secret(secret.name), namespace=namespace)

    async def reconcile(self, key: str) -> None:
        profile = self.hub.get(ClusterProfile, key, self.settings.kueue_namespace)
        if profile is None or profile.is_deleting:
            return
        secret = self.hub.get(Secret, credentials_secret(key), self.settings.kueue_namespace)
        status = self._changes(profile, access_provider(secret), credentials_entry(secret))
        if not status:
            return
        patch = {"metadata": profile.precondition, "status": status}
        await self.hub.client.merge(profile.resource, profile.name, profile.namespace, patch, subresource="status")
        log.info("profile written", cluster=key, fields=",".join(status))

    def _changes(self, profile: ClusterProfile, provider: Manifest | None, entry: Manifest | None) -> Manifest:
        live = {ACCESS_PROVIDERS: profile.status.access_providers, CREDENTIALS: profile.status.credentials}
        wanted = {
            ACCESS_PROVIDERS: with_ours(profile.status.access_providers, "name", ACCESS_PROVIDER, provider),
            CREDENTIALS: with_ours(profile.status.credentials, "consumer", CONSUMER, entry),
        }
        return {field: wanted[field] for field in wanted if field in self.fields and wanted[field] != [*live[field]]}


def with_ours(live: Sequence[Manifest], key: str, name: str, ours: Manifest | None) -> list[Manifest]:
    """Return a list with our entry as it shall be, in its place, and everybody else's as it is."""
    if ours is None:
        return [entry for entry in live if entry.get(key) != name]
    if any(entry.get(key) == name for entry in live):
        return [ours if entry.get(key) == name else entry for entry in live]
    return [*live, ours]


def access_provider(secret: Secret | None) -> Manifest | None:
    """Say where the cluster is, and in which secret an exec plugin such as kubeconfig-secretreader finds the token."""
    credential = secret_content.read(secret)
    if secret is None or credential is None:
        return None
    connection = parse(credential.kubeconfig)
    plugin = {"name": secret.name, "key": KUBECONFIG_KEY, "namespace": secret.namespace}
    cluster: Manifest = {
        "server": connection.server,
        "extensions": [{"name": EXEC_EXTENSION, "extension": plugin}],
    }
    if connection.ca:
        cluster["certificate-authority-data"] = base64.b64encode(connection.ca).decode()
    return {"name": ACCESS_PROVIDER, "cluster": cluster}


def credentials_entry(secret: Secret | None) -> Manifest | None:
    if secret is None:
        return None
    reference = {"kind": "Secret", "name": secret.name, "namespace": secret.namespace}
    return {"consumer": CONSUMER, "accessRef": reference}


def _name(profile: Object) -> Iterable[str]:
    return (profile.name,)

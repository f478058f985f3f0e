"""Give every namespace what its pods reach the API with: the account `default`, and the CA to trust.

Reads:   Namespace, ServiceAccount, ConfigMap
Writes:  ServiceAccount default, ConfigMap kube-root-ca.crt
Mirrors: kubernetes pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import core_v1
from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.embedded.kubernetes.namespaces import Namespace
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

DEFAULT_ACCOUNT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
CA_KEY: Final = "ca.crt"

log = Log("service-accounts")


class RootCa(core_v1.ConfigMap):
    """The one ConfigMap of each namespace that is followed here; others may follow all of them."""


class ServiceAccountController(Controller):
    name = "service-accounts"

    def __init__(self, hub: Cluster, metrics: Metrics, *, ca: str) -> None:
        super().__init__(hub, metrics)
        self.ca = ca
        """The certificate, as PEM, that has signed the API server's; empty where there is none to trust."""

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(Namespace, by_key),
            Watch(ServiceAccount, lambda account: [account.namespace] if account.name == DEFAULT_ACCOUNT else []),
            Watch(RootCa, lambda found: [found.namespace], fields=f"metadata.name={ROOT_CA}"),
        )

    async def reconcile(self, key: str) -> None:
        namespace = self.hub.get(Namespace, key)
        if namespace is None or namespace.is_deleting:
            return
        if self.hub.get(ServiceAccount, DEFAULT_ACCOUNT, key) is None:
            await self.hub.client.create(ServiceAccount.resource, ServiceAccount.manifest(DEFAULT_ACCOUNT, key))
            log.info("default account made", namespace=key)
        await self._publish_ca(key)

    async def _publish_ca(self, namespace: str) -> None:
        if not self.ca:
            return
        found = self.hub.get(RootCa, ROOT_CA, namespace)
        data = {CA_KEY: self.ca}
        if found is None:
            await self.hub.client.create(RootCa.resource, RootCa.manifest(ROOT_CA, namespace, data=data))
        elif found.data != data:
            wrong = {key: None for key in found.data if key not in data}
            await self.hub.client.merge(RootCa.resource, ROOT_CA, namespace, {"data": {**wrong, **data}})

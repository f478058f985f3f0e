"""Give every namespace what its pods reach the API with: the account `default`, and the CA to trust.

Reads:   Namespace, ServiceAccount, ConfigMap
Writes:  ServiceAccount default, ConfigMap kube-root-ca.crt
Mirrors: kubernetes pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api.core_v1 import ConfigMap, Namespace, ServiceAccount
from fleetqueue.api.meta import key_of
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

DEFAULT_ACCOUNT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
NAMED_ROOT_CA: Final = f"metadata.name={ROOT_CA}"
CA_KEY: Final = "ca.crt"

log = Log("service-accounts")


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
            Watch(ConfigMap, lambda config_map: [config_map.namespace], fields=NAMED_ROOT_CA),
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
        config_map = self.hub.informer(ConfigMap, fields=NAMED_ROOT_CA).store.get(key_of(namespace, ROOT_CA))
        data = {CA_KEY: self.ca}
        if config_map is None:
            await self.hub.client.create(ConfigMap.resource, ConfigMap.manifest(ROOT_CA, namespace, data=data))
        elif config_map.data != data:
            wrong = {key: None for key in config_map.data if key not in data}
            await self.hub.client.merge(ConfigMap.resource, ROOT_CA, namespace, {"data": {**wrong, **data}})

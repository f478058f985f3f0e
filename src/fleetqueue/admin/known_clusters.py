"""What the hub knows of its clusters by which a connection to one is told: their addresses, and who they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fleetqueue.admin.hub_state import seen
from fleetqueue.admin.worker_identity import known_uids
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.endpoints import is_same_server
from fleetqueue.controllers.processes.capabilities import known_identity

HUB: Final = ""
"""The name under which the hub itself is known."""


@dataclass(frozen=True, slots=True)
class KnownCluster:
    urls: tuple[str, ...] = ()
    """Its addresses; none where they may not be seen."""
    uid: str = ""
    """Who it is, by the uid of its namespace kube-system; empty where that may not be known."""

    def is_at(self, server: str) -> bool:
        return any(is_same_server(url, server) for url in self.urls)


async def known_clusters(hub: Client) -> Mapping[str, KnownCluster]:
    """Return what is known of each cluster, and of the hub itself, by name."""
    members, uids = await seen(hub, cluster.ManagedCluster) or (), await _uids(hub)
    urls = {one.name: tuple(config.url for config in one.spec.managed_cluster_client_configs) for one in members}
    workers = {name: KnownCluster(urls.get(name, ()), uids.get(name, "")) for name in sorted({*urls, *uids})}
    return {**workers, HUB: KnownCluster(uid=await known_identity(hub))}


async def _uids(hub: Client) -> Mapping[str, str]:
    try:
        return await known_uids(hub, KUEUE_NAMESPACE)
    except (errors.Forbidden, errors.NotFound):
        return {}

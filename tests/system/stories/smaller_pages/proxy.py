"""OCM's proxy in front of the workers, as far as its users see it: one address, and the hub's authority."""

from collections.abc import Iterable, Iterator

from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.fleets.client_certificates import ClientAuthority
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_cluster import EmbeddedCluster, dial
from fleetqueue.fleets.embedded_lab import EmbeddedLab

URL = "https://cluster-proxy-addon-user.open-cluster-management-addon:9092"


class Behind:
    """A worker as it is reached through the proxy."""

    def __init__(self, worker: EmbeddedCluster, name: str, hub_ca: bytes) -> None:
        self.worker = worker
        self.way = worker.way
        self.url = f"{URL}/{name}"
        self.ca = hub_ca

    @property
    def server(self) -> ApiServer:
        return self.worker.server

    @property
    def authority(self) -> ClientAuthority:
        return self.worker.authority


class ProxiedFleet(EmbeddedFleet):
    def dial(self, connection: Connection) -> Client:
        return dial(behind(self.clusters.values()), connection) or super().dial(connection)


class ProxiedLab(EmbeddedLab):
    def dial(self, connection: Connection) -> Client:
        return dial(behind(self.endpoints.values()), connection) or super().dial(connection)


def behind(clusters: Iterable[EmbeddedCluster]) -> Iterator[Behind]:
    hub, *workers = clusters
    for worker in workers:
        yield Behind(worker, worker.name, hub.ca)

"""A fleet of embedded clusters in this process, without sockets: a hub and its workers, each with its own API."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.apiserver.auth.authentication import Credentials
from fleetqueue.apiserver.auth.users import MASTERS, User
from fleetqueue.apiserver.server import ApiServer, Secrets
from fleetqueue.apiserver.storage.log import MemoryLog
from fleetqueue.apiserver.storage.storage import ClusterStorage
from fleetqueue.assembly.cluster_parts import cluster_parts
from fleetqueue.assembly.converters import CONVERTERS
from fleetqueue.assembly.faults import FaultyDoor, Way
from fleetqueue.assembly.in_process import InProcessDoor
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, render
from fleetqueue.engine.cluster_names import HUB, cluster_names

ADMIN: Final = User("kubernetes-admin", (MASTERS,))
CA: Final = b"no certificate: this cluster has no sockets"


class EmbeddedCluster:
    """One cluster: its API, and the way to it."""

    def __init__(self, name: str, server: ApiServer, admin_token: str) -> None:
        self.name = name
        self.server = server
        self.way = Way()
        self.admin_token = admin_token

    def start(self) -> list[asyncio.Task[None]]:
        """Let the cluster live: its API, its controllers and its node."""
        parts = cluster_parts(self.name, self.server, token=self.admin_token)
        return [asyncio.create_task(work, name=self.name) for work in (self.server.run(), parts.run())]

    @property
    def url(self) -> str:
        return f"https://{self.name}.embedded:6443"

    @property
    def kubeconfig(self) -> str:
        """The administrator's kubeconfig; only the fleet's own dialer reaches its address."""
        return render(self.name, server=self.url, ca=CA, token=self.admin_token, user=ADMIN.name)

    def client(self, token: str = "") -> Client:
        """Return a client past all faults, as the administrator or as who holds a token."""
        return Client(InProcessDoor(self.server, Credentials(token=token or self.admin_token)))


class EmbeddedFleet:
    def __init__(self, clusters: Sequence[EmbeddedCluster]) -> None:
        self.clusters = {cluster.name: cluster for cluster in clusters}

    @classmethod
    @asynccontextmanager
    async def open(cls, workers: int = 3) -> AsyncIterator["EmbeddedFleet"]:
        """Start a hub and workers; all that they are is gone when the block ends."""
        fleet = cls([await _cluster(name) for name in cluster_names(workers)])
        tasks = [task for cluster in fleet.clusters.values() for task in cluster.start()]
        try:
            yield fleet
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    @property
    def hub(self) -> EmbeddedCluster:
        return self.clusters[HUB]

    @property
    def workers(self) -> list[EmbeddedCluster]:
        return [cluster for name, cluster in self.clusters.items() if name != HUB]

    def dial(self, connection: Connection) -> Client:
        """Open a client as `client.transport.connect` does: its credential is still verified, the way may be cut."""
        for cluster in self.clusters.values():
            if cluster.url == connection.server:
                door = InProcessDoor(cluster.server, Credentials(token=connection.token))
                return Client(FaultyDoor(door, cluster.way))
        raise errors.Unreachable(f"no cluster of this fleet is at {connection.server}")

    def cut(self, name: str, *, silently: bool = False) -> None:
        self.clusters[name].way.cut(silently=silently)

    def heal(self, name: str) -> None:
        self.clusters[name].way.heal()


async def _cluster(name: str) -> EmbeddedCluster:
    token = clock.uid()
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets(tokens={token: ADMIN}), CONVERTERS)
    await server.start()
    return EmbeddedCluster(name, server, token)

"""A fleet of embedded clusters in this process, without sockets: a hub and its workers, each with its own API."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, partial
from typing import Final, Self

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, render
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.fleets.client_certificates import ClientAuthority
from fleetqueue.fleets.embedded_cluster import ADMIN, EmbeddedCluster, NewDoor, dial, new_server
from fleetqueue.fleets.faults import FaultyDoor
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.fleets.pods.options import Dial
from fleetqueue.lab.certificates import Authority
from fleetqueue.lab.cluster_names import HUB, cluster_names

CA: Final = b"no certificate: this cluster has no sockets"
StartServer = Callable[[Secrets], Awaitable[ApiServer]]


class InProcessCluster(EmbeddedCluster):
    """A cluster that only this process reaches."""

    ca = CA

    @classmethod
    async def new(cls, name: str, start: StartServer = new_server) -> Self:
        cluster = cls(name)
        cluster.server = await start(Secrets(tokens={cluster.admin_token: ADMIN}))
        return cluster

    def start(self, dial: Dial, *, with_parts: bool = True) -> list[asyncio.Task[None]]:
        """Let the cluster live: its API and, unless it shall be an API alone, its controllers and its node."""
        work = [self.server.run()]
        if with_parts:
            work.append(self.parts(dial).run())
        return [asyncio.create_task(one, name=self.name) for one in work]

    @property
    def url(self) -> str:
        return f"https://{self.name}.embedded:6443"

    @cached_property
    def authority(self) -> ClientAuthority:
        return ClientAuthority(Authority.new(f"{self.name}-ca"))

    @property
    def kubeconfig(self) -> str:
        """The administrator's kubeconfig; only the fleet's own dialer reaches its address."""
        return render(self.name, server=self.url, ca=CA, token=self.admin_token, user=ADMIN.name)


class EmbeddedFleet:
    """A hub and workers, each a cluster of its own."""

    def __init__(self, clusters: Sequence[InProcessCluster], door: NewDoor = InProcessDoor) -> None:
        self.clusters = {cluster.name: cluster for cluster in clusters}
        self._door = door

    @classmethod
    @asynccontextmanager
    async def open(cls, workers: int = 3) -> AsyncIterator[Self]:
        """Start a hub and workers; all that they are is gone when the block ends."""
        fleet = cls([await InProcessCluster.new(name) for name in cluster_names(workers)])
        async with fleet.living():
            yield fleet

    @asynccontextmanager
    async def living(self, *, with_parts: bool = True) -> AsyncIterator[None]:
        """Let all clusters live until the block ends."""
        tasks = [
            task
            for cluster in self.clusters.values()
            for task in cluster.start(partial(self._dial_from, cluster), with_parts=with_parts)
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled():
                    task.result()  # it ended by itself, which none should: it may be why the body failed

    @property
    def hub(self) -> InProcessCluster:
        return self.clusters[HUB]

    @property
    def workers(self) -> list[InProcessCluster]:
        return [cluster for name, cluster in self.clusters.items() if name != HUB]

    def dial(self, connection: Connection) -> Client:
        """Open a client as `client.transport.connect` does: its credential is still verified, the way may be cut."""
        client = dial(self.clusters.values(), connection, self._door)
        if client is None:
            raise errors.Unreachable(f"no cluster of this fleet is at {connection.server}")
        return client

    def _dial_from(self, cluster: InProcessCluster, connection: Connection) -> Client:
        """Open a client for a pod of a cluster: its own way out may be cut too."""
        client = self.dial(connection)
        client.door = FaultyDoor(client.door, cluster.way_out)
        return client

    def cut(self, name: str, *, silently: bool = False) -> None:
        self.clusters[name].way.cut(silently=silently)

    def heal(self, name: str) -> None:
        self.clusters[name].way.heal()

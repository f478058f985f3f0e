"""A fleet that a test owns: a hub and workers in this process, on a clock that the test moves.

async def test_my_controller(fleet):
    fleet.hub.add(...)                      # arrange, as an administrator
    async with running(my_controller(fleet.hub.client())):
        await fleet.advance("3h")           # three hours later
        fleet.cut("cluster1")               # faults
    assert fleet.hub.get(...)               # look
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Self

from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.fleets.crashes import Life
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.lab.cluster_names import HUB, cluster_names
from fleetqueue.rules.run_times import duration
from fleetqueue.testing import virtual_time
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.embedded_server import EmbeddedServer
from fleetqueue.testing.frozen import FreezingDoor
from fleetqueue.testing.templates import template


class FleetCluster(ArrangedApi):
    """One cluster of the fleet: arrange its objects, put faults on the way to it, look at what is there."""

    def __init__(self, cluster: InProcessCluster) -> None:
        super().__init__(EmbeddedServer(api=cluster.server, token=cluster.admin_token), cluster.way)
        self.name = cluster.name
        self.kubeconfig = cluster.kubeconfig
        """The administrator's; only the fleet's own `dial` reaches its address."""

    def client(self, life: Life | None = None) -> Client:
        """Return an administrator's client on the way where faults are, of a process that may die."""
        return Client(self if life is None else life.door(self))


class Fleet:
    def __init__(self, clusters: EmbeddedFleet) -> None:
        self._fleet = clusters
        self._clusters = {name: FleetCluster(cluster) for name, cluster in clusters.clusters.items()}

    @classmethod
    @asynccontextmanager
    async def open(cls, workers: int = 2, *, parts: bool = True) -> AsyncIterator[Self]:
        """Start a fleet, on a loop whose time jumps.

        Args:
            workers: how many clusters there are beside the hub: `cluster1`, `cluster2`, ...
            parts: whether Kubernetes' own controllers, a scheduler and a node run in each cluster.
        """
        started = [await InProcessCluster.new(name, template().copy) for name in cluster_names(workers)]
        embedded = EmbeddedFleet(started, FreezingDoor)
        async with embedded.living(with_parts=parts):
            fleet = cls(embedded)
            await fleet.settle()
            yield fleet
        for cluster in fleet:
            cluster.server.end()

    @property
    def hub(self) -> FleetCluster:
        return self._clusters[HUB]

    @property
    def workers(self) -> list[FleetCluster]:
        return [cluster for cluster in self if cluster.name != HUB]

    def __getitem__(self, name: str) -> FleetCluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[FleetCluster]:
        return iter(self._clusters.values())

    def dial(self, connection: Connection) -> Client:
        """Open a client by a kubeconfig, as controllers do that are given one: its credential is verified."""
        return self._fleet.dial(connection)

    # Time

    async def settle(self) -> None:
        """Let everything happen that needs no time."""
        await virtual_time.settle()

    async def advance(self, time: float | str) -> None:
        """Let time pass, with all that happens in it: seconds, or `90s`, `3h`, `1h30m`."""
        seconds = duration(time) if isinstance(time, str) else time
        if seconds is None:
            raise ValueError(f"{time!r} is no time: write it as 90s, 3h or 1h30m")
        await virtual_time.advance(seconds)

    # Faults

    def cut(self, *names: str, silently: bool = False) -> None:
        """Cut clusters off: connections are refused, or (silently) swallowed without a word."""
        for name in names:
            self[name].cut(silently=silently)

    def heal(self, *names: str) -> None:
        """End all faults on the way to clusters, to all where none is named."""
        for name in names or self._clusters:
            self[name].heal()

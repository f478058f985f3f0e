"""A fleet that a test owns: a hub and workers in this process, on a clock that the test moves.

@pytest.mark.fleet(scenario="multikueue")
async def test_my_jobs_run(fleet):
    fleet.add(Path("queue.yaml"), Path("job.yaml"))                               # on the hub, as an administrator
    await fleet.until(lambda: fleet["cluster1"].list("Pod", "default"))           # some virtual time later
    fleet.cut("cluster1")                                                         # faults
    await fleet.advance("1h")
    assert is_true(fleet.get("Job", "train"), "Complete")                         # look
"""

import gc
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Final, Self, TypeVar

from fleetqueue import clock
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.fleets.crashes import Life
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.testing import virtual_time
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.embedded_server import EmbeddedServer
from fleetqueue.testing.frozen import FreezingDoor
from fleetqueue.testing.manifest_sources import ManifestSource
from fleetqueue.testing.scenarios import Scenario, clusters_of
from fleetqueue.testing.virtual_time import VirtualClock
from fleetqueue.testing.waiting import Look, seconds_of

GARBAGE: Final = (10_000, 20, 20)
T = TypeVar("T")


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Let Python look for garbage as rarely as in a fleet that runs; at its usual pace it takes a sixth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(*GARBAGE)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def only_warnings() -> Iterator[None]:
    """Let the parts of the fleet say only what may be wrong, whatever a program under test does to the root logger."""
    log = logging.getLogger("fleetqueue")
    before = log.level
    log.setLevel(before or logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(before)


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
    """A hub and workers. What is added, looked at or removed without naming a cluster is on the hub."""

    def __init__(self, clusters: EmbeddedFleet) -> None:
        self._fleet = clusters
        self._clusters = {name: FleetCluster(cluster) for name, cluster in clusters.clusters.items()}

    @classmethod
    @asynccontextmanager
    async def open(cls, workers: int = 2, *, scenario: Scenario = "none", seed: int = 0) -> AsyncIterator[Self]:
        """Start a fleet, on a loop whose time jumps.

        Args:
            workers: how many clusters there are beside the hub: `cluster1`, `cluster2`, ...
            scenario: what is on them: `none` (nothing; they are whole clusters all the same), `multikueue` (Kueue, OCM
                and fleetqueue at work), or `api` (not even Kubernetes' own controllers and a node).
            seed: that of all chance in the fleet.
        """
        virtual = VirtualClock(seed)
        with clock.use(virtual), rarely_collected(), only_warnings():
            started, begins = await clusters_of(scenario, workers)
            virtual.start = begins - timedelta(seconds=clock.monotonic())
            embedded = EmbeddedFleet(started, FreezingDoor)
            async with embedded.living(with_parts=scenario != "api"):
                fleet = cls(embedded)
                await fleet.settle()
                yield fleet
            for cluster in fleet:
                cluster.server.end()

    @property
    def hub(self) -> FleetCluster:
        return self._clusters[HUB]

    @property
    def workers(self) -> Sequence[FleetCluster]:
        return [cluster for cluster in self if cluster.name != HUB]

    def __getitem__(self, name: str) -> FleetCluster:
        return self._clusters[name]

    def __iter__(self) -> Iterator[FleetCluster]:
        return iter(self._clusters.values())

    def dial(self, connection: Connection) -> Client:
        """Open a client by a kubeconfig, as controllers do that are given one: its credential is verified."""
        return self._fleet.dial(connection)

    # Objects of the hub

    def add(self, *manifests: ManifestSource) -> None:
        """Create objects on the hub: dictionaries, YAML text, or files (a `pathlib.Path`)."""
        self.hub.add(*manifests)

    def get(self, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """Return an object of the hub, or None."""
        return self.hub.get(kind, name, namespace)

    def list(self, kind: str, namespace: str = "") -> Sequence[Manifest]:
        """Return all of a kind on the hub, in all namespaces or in one."""
        return self.hub.list(kind, namespace)

    def remove(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object of the hub; finalizers still hold it."""
        self.hub.remove(kind, name, namespace)

    # Time

    async def settle(self) -> None:
        """Let everything happen that needs no time."""
        await virtual_time.settle()

    async def advance(self, time: float | str) -> None:
        """Let time pass, with all that happens in it: seconds, or `90s`, `3h`, `1h30m`."""
        await virtual_time.advance(seconds_of(time))

    async def until(self, check: Callable[[], T], *, within: float | str = "10m") -> T:
        """Let time pass until something holds, and return what the check said.

        The check is asked every second. A field or an object that is not there yet is no error: it does not hold.
        """
        look, seconds = Look(check), seconds_of(within)
        ends = clock.monotonic() + seconds
        await self.settle()
        while not look():
            if clock.monotonic() >= ends:
                raise AssertionError(look.why_not(within))
            await self.advance(min(1.0, max(ends - clock.monotonic(), 0.001)))
        return look.said

    # Faults

    def cut(self, *names: str, silently: bool = False) -> None:
        """Cut clusters off: connections are refused, or (silently) swallowed without a word."""
        for name in names:
            self[name].cut(silently=silently)

    def heal(self, *names: str) -> None:
        """End all faults on the way to clusters, to all where none is named."""
        for name in names or self._clusters:
            self[name].heal()

"""The two hubs that scenarios run on: our embedded one in virtual time, and a real one with upstream's controllers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

from fleetqueue import clock
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.informer import Informer
from fleetqueue.testing.virtual_time import advance, running
from tests.invariants.standing_by import Meanwhile, Pace, standing_by

from .busy import busy_seconds, quiet_share

ANEW = Pace(calm=0.0, quiet=90.0)
"""How long parts are looked at that were started once more."""
CALM = 30.0
"""Seconds in which what the last scenarios brought comes to its end."""
LOOK = 0.1
"""Seconds between two looks at whether a real cluster is quiet."""
ROOM = {"cpu": "1000", "memory": "1000Gi", "pods": "1000"}
"""More than the pods of all scenarios ask for."""


class Part(Protocol):
    """What runs on an embedded hub until it is cancelled: a `Manager`, a `KueueManager`."""

    async def run(self) -> None: ...


@asynccontextmanager
async def lived_in(
    fleet: EmbeddedFleet, parts: Callable[[], Meanwhile], *, is_checked: bool = True
) -> AsyncIterator[None]:
    """Let parts live in a fleet while the body runs, and see that all invariants hold, unless they are made wrong.

    When the block ends, the parts are started anew, and see what only a start brings: what was missed since somebody
    deleted it, or Workloads that were not tried yet. Started once more, they must find nothing to write.
    """
    if not is_checked:
        async with parts():
            yield
        return
    clients = {name: cluster.client() for name, cluster in fleet.clusters.items()}
    async with standing_by(clients, ANEW) as bystander:
        async with parts():
            yield
        async with parts():
            await advance(CALM)
        await bystander.check(parts())


async def make_room(client: Client) -> None:
    """Give the nodes of a cluster room for the pods of all scenarios, so that none waits for another's."""
    for raw in (await client.list(Node.resource)).items:
        patch = {"status": {"capacity": ROOM, "allocatable": ROOM}}
        await client.merge(Node.resource, raw["metadata"]["name"], "", patch, subresource="status")


class EmbeddedHub:
    def __init__(self, client: Client, *, settling: float) -> None:
        """Take the seconds in which what was begun comes to its end, also what is tried again soon."""
        self.client = client
        self._settling = settling

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        systems: Sequence[str],
        part: Callable[[InProcessCluster], Part],
        *,
        settling: float,
        definitions: Sequence[Manifest] = (),
        is_checked: bool = True,
    ) -> AsyncIterator[Self]:
        """Start a hub with the custom kinds of some systems, and those of further definitions, and a part on it.

        `is_checked`: see `lived_in`.
        """
        async with EmbeddedFleet.open(workers=0) as fleet:
            hub = cls(fleet.hub.client(), settling=settling)
            for definition in [*(one for system in systems for one in crds(system)), *definitions]:
                await hub.client.create(CustomResourceDefinition.resource, definition)
            await advance(60)  # the garbage collector looks for new kinds every half minute
            async with lived_in(fleet, lambda: running(part(fleet.hub).run()), is_checked=is_checked):
                yield hub

    async def settle(self, *, is_alone: bool = False) -> None:
        await advance(self._settling)

    async def wait(self, seconds: float) -> None:
        await advance(seconds)


@dataclass
class LastChange:
    """When something changed for the last time, on one cluster or on several that settle together."""

    moment: float = 0.0


class RealHub:
    """A real cluster that counts as settled when nothing of some kinds has changed for a while."""

    def __init__(
        self,
        client: Client,
        kinds: Sequence[type[Object]],
        *,
        quiet: float,
        patience: float,
        last_change: LastChange | None = None,
    ) -> None:
        """Take the kinds that are followed, and how many seconds to wait.

        Args:
            quiet: without a change, after which it has settled; more than upstream's controllers pause between writes.
            patience: until it must have settled.
            last_change: that of several clusters, of which none has settled before all have.
        """
        self.client = client
        self.informers: list[Informer[Any]] = [Informer(client, kind) for kind in kinds]
        self._quiet = quiet
        self._patience = patience
        self._last_change = last_change or LastChange()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        cluster: RealCluster,
        kinds: Sequence[type[Object]],
        *,
        quiet: float,
        patience: float,
        last_change: LastChange | None = None,
    ) -> AsyncIterator[Self]:
        """Follow one cluster of a `RealFleet`."""
        client = connect(load(cluster.kubeconfig))
        try:
            async with cls.following(client, kinds, quiet=quiet, patience=patience, last_change=last_change) as hub:
                yield hub
        finally:
            await client.close()

    @classmethod
    @asynccontextmanager
    async def following(
        cls,
        client: Client,
        kinds: Sequence[type[Object]],
        *,
        quiet: float,
        patience: float,
        last_change: LastChange | None = None,
    ) -> AsyncIterator[Self]:
        """Follow the cluster of a client."""
        async with AsyncExitStack() as stack:
            hub = cls(client, kinds, quiet=quiet, patience=patience, last_change=last_change)
            for informer in hub.informers:
                informer.subscribe(lambda old, new: hub.note())
                await stack.enter_async_context(running(informer.run()))
                await informer.synced.wait()
            yield hub

    async def settle(self, *, is_alone: bool = False) -> None:
        self.note()
        await self.quiet_for(self._quiet)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def note(self) -> None:
        """Something has changed."""
        self._last_change.moment = clock.monotonic()

    async def quiet_for(self, seconds: float) -> None:
        """Wait until nothing has changed for so long, by seconds in which the cluster was idle."""
        async with asyncio.timeout(self._patience):
            quiet, seen, moment, busy = 0.0, self._last_change.moment, clock.monotonic(), busy_seconds()
            while quiet < seconds:
                await asyncio.sleep(LOOK)
                now, spent = clock.monotonic(), busy_seconds()
                is_still = self._last_change.moment == seen
                quiet = quiet + quiet_share(now - moment, spent - busy) if is_still else 0.0
                seen, moment, busy = self._last_change.moment, now, spent


@asynccontextmanager
async def followed_together(fleet: RealFleet, kinds: Sequence[type[Object]]) -> AsyncIterator[Mapping[str, RealHub]]:
    """Follow all clusters of a real fleet together: what ends on one of them begins on another."""
    async with AsyncExitStack() as stack:
        found: dict[str, RealHub] = {}
        last_change = LastChange()
        for name, cluster in fleet.clusters.items():
            opened = RealHub.open(cluster, kinds, quiet=3.5, patience=180.0, last_change=last_change)
            found[name] = await stack.enter_async_context(opened)
        yield found

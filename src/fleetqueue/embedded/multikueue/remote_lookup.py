"""All workers that the hub knows, by the names of their MultiKueueClusters."""

import asyncio
from collections.abc import Callable, Iterator

from fleetqueue import clock
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.embedded.multikueue.remote import RemoteClient

Spawn = Callable[[RemoteClient, Connection], "asyncio.Task[None]"]


class RemoteClients:
    def __init__(self, make: Callable[[str], RemoteClient]) -> None:
        self._make = make
        self._remotes: dict[str, RemoteClient] = {}
        self._tasks: dict[str, tuple[Connection, asyncio.Task[None]]] = {}
        self._gone: dict[str, float] = {}
        """Since when those are away that somebody removed."""
        self.started = clock.now()

    def __iter__(self) -> Iterator[RemoteClient]:
        return iter([self._remotes[name] for name in sorted(self._remotes)])

    def get(self, name: str) -> RemoteClient | None:
        return self._remotes.get(name)

    def lost_for(self, name: str) -> float:
        """Return for how many seconds a worker has been away that there is no MultiKueueCluster for."""
        since = self._gone.setdefault(name, clock.monotonic())
        return clock.monotonic() - since

    async def ensure(self, name: str, connection: Connection, spawn: Spawn) -> RemoteClient:
        """Keep a worker connected; another kubeconfig is another connection."""
        remote = self._remotes.get(name)
        if remote is None:
            remote = self._remotes[name] = self._make(name)
            self._gone.pop(name, None)
        known = self._tasks.get(name)
        if known is not None and known[0] == connection and not known[1].done():
            return remote
        await self.stop(name)
        self._tasks[name] = (connection, spawn(remote, connection))
        return remote

    async def stop(self, name: str) -> None:
        """Disconnect, and remember what the worker has."""
        known = self._tasks.pop(name, None)
        if known is not None:
            known[1].cancel()
            await asyncio.wait({known[1]})

    async def forget(self, name: str) -> None:
        await self.stop(name)
        if self._remotes.pop(name, None) is not None:
            self._gone[name] = clock.monotonic()

"""Wait for clusters to be as wanted: a wait ends with the very event that fulfils it, and never lasts beyond its limit.

async with Observed({"hub": client}) as seen:
    seen.follow("hub", Secret, namespace="kueue-system")
    await seen.until(lambda: seen["hub"].get(Secret, "x", "kueue-system"), limit=30, what="secret x")
"""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from fleetqueue import clock
from fleetqueue.api.meta import Object
from fleetqueue.client import Client
from fleetqueue.controllers.processes.process import end
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.informer import Informer

T = TypeVar("T")

LIST_SECONDS: Final = 60.0
"""How long clusters may take until they have listed what is followed, where nobody says otherwise."""

Seen = Callable[[str, Object | None, Object | None], None]
"""Told of every change: the cluster, what was, what is."""


class NotInTime(Exception):
    """What was waited for did not happen within its limit; the text names it."""


class NoAnswer(Exception):
    """A cluster did not list what is followed within the limit, so that nothing can be said of it; the text names it.

    It is not NotInTime: of objects that nobody has seen, "none is left" would always be true, and so would "not yet".
    """


class Observed:
    """Clusters of which some kinds are followed."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._clusters = {name: Cluster(name, client) for name, client in clients.items()}
        self._following: list[asyncio.Task[None]] = []
        self._informers: dict[tuple[str, type[Object]], Informer[Any]] = {}
        self._changed = asyncio.Event()
        self._watchers: list[Seen] = []

    def __getitem__(self, cluster: str) -> Cluster:
        return self._clusters[cluster]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._following:
            await end(task)

    def follow(self, cluster: str, kind: type[Object], *, namespace: str = "", fields: str = "") -> None:
        """Begin to follow a kind; following it again changes nothing."""
        if (cluster, kind) in self._informers:
            return
        informer = self._clusters[cluster].informer(kind, namespace=namespace, fields=fields)
        informer.subscribe(lambda old, new: self._see(cluster, old, new))
        self._informers[cluster, kind] = informer
        self._following.append(asyncio.create_task(informer.run(), name=f"follow {cluster}/{kind.__name__}"))

    def watch(self, watcher: Seen) -> None:
        """Tell somebody of every change from now on."""
        self._watchers.append(watcher)

    async def synced(self, *, limit: float = LIST_SECONDS) -> None:
        """Wait until everything that is followed was listed once. Raises NoAnswer."""
        try:
            async with asyncio.timeout(limit):
                for informer in list(self._informers.values()):
                    await informer.synced.wait()
        except TimeoutError:
            raise NoAnswer(self._unlisted(limit)) from None

    async def until(
        self, holds: Callable[[], T | None], *, limit: float, what: str, why_not: Callable[[], str] = lambda: ""
    ) -> T:
        """Return what `holds` gives as soon as it gives anything; it is asked after each change, and at the end.

        It is asked only of caches that are filled: raises NoAnswer where they are not so within the limit.
        """
        began = clock.monotonic()
        await self.synced(limit=limit)
        try:
            async with asyncio.timeout(limit - (clock.monotonic() - began)):
                while not (value := holds()):
                    self._changed.clear()
                    await self._changed.wait()
                return value
        except TimeoutError:
            if last := holds():
                return last
            reason = why_not()
            raise NotInTime(f"{what}: not within {limit:g} s{'; ' if reason else ''}{reason}") from None

    def _unlisted(self, limit: float) -> str:
        """Say what was not listed, and why, as far as that is known."""
        cluster, kind, problem = next(
            (cluster, kind.resource.kind, informer.problem)
            for (cluster, kind), informer in self._informers.items()
            if not informer.synced.is_set()
        )
        return f"{cluster} did not list its objects of kind {kind} within {limit:g} s{': ' if problem else ''}{problem}"

    def _see(self, cluster: str, old: Object | None, new: Object | None) -> None:
        for watcher in self._watchers:
            watcher(cluster, old, new)
        self._changed.set()

"""A Kueue manager as one thing that can be started: its configuration, its controllers, its say in writes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook, Find
from fleetqueue.controllers.kueue import room
from fleetqueue.controllers.kueue.settings import KueueSettings
from fleetqueue.controllers.kueue.webhooks.hooks import hooks
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

Install = Callable[[Sequence[AdmissionHook]], None]
"""Puts hooks in the place of those that were there."""

log = Log("kueue")


class KueueManager:
    """Runs until cancelled.

    Kinds of jobs that the cluster does not serve when it starts are left alone; the real manager waits for them.
    """

    def __init__(
        self,
        cluster: Cluster,
        metrics: Metrics,
        settings: KueueSettings,
        *,
        find: Find,
        install: Install,
        more: Sequence[Controller] = (),
    ) -> None:
        """Take all that a manager needs.

        Args:
            find: reads objects for its webhooks.
            install: gives its webhooks their say in writes.
            more: controllers of other rooms that run in the same manager, such as MultiKueue.
        """
        self.cluster = cluster
        self.metrics = metrics
        self.settings = settings
        self.find = find
        self.install = install
        self.more = more
        self._manager: Manager | None = None

    async def run(self) -> None:
        settings = replace(self.settings, frameworks=await self._served())
        controllers = [*room.controllers(self.cluster, self.metrics, settings), *self.more]
        self._manager = Manager(self.cluster, controllers)
        with self._having_a_say(settings):
            await self._manager.run()

    def why_not_ready(self) -> str:
        """Say what is missing until it works; nothing where nothing is."""
        is_ready = self._manager is not None and self._manager.ready.is_set()
        return "" if is_ready else "its caches are not filled yet"

    async def _served(self) -> tuple[str, ...]:
        """Return those of the wanted frameworks whose kinds are there."""
        served = []
        for integration in room.INTEGRATIONS:
            if integration.framework in self.settings.frameworks:
                try:
                    await self.cluster.client.read(f"/apis/{integration.kind.resource.api_version}")
                except errors.NotFound:
                    log.warning("kind of job is not served", framework=integration.framework)
                else:
                    served.append(integration.framework)
        return tuple(served)

    @contextmanager
    def _having_a_say(self, settings: KueueSettings) -> Iterator[None]:
        installed = hooks(settings, room.INTEGRATIONS, self.find)
        self.install(installed)
        log.info("webhooks installed", count=len(installed))
        try:
            yield
        finally:
            self.install(())

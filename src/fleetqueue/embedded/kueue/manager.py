"""A Kueue manager as one thing that can be started: its configuration, its controllers, its webhooks."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook, Find
from fleetqueue.client import Client
from fleetqueue.embedded.kueue import wiring
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.webhooks.hooks import hooks
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

    Kinds of jobs that the cluster does not serve when it starts are left alone; who runs it waits for them.
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
            install: installs its webhooks.
            more: controllers of other packages that run in the same manager, such as MultiKueue.
        """
        self.cluster = cluster
        self.metrics = metrics
        self.settings = settings
        self.find = find
        self.install = install
        self.more = more
        self._manager: Manager | None = None

    async def run(self) -> None:
        settings = replace(self.settings, frameworks=await served(self.cluster.client, self.settings.frameworks))
        for framework in sorted(set(self.settings.frameworks) - set(settings.frameworks)):
            log.warning("kind of job is not served", framework=framework)
        controllers = [*wiring.controllers(self.cluster, self.metrics, settings), *self.more]
        self._manager = Manager(self.cluster, controllers)
        with self._installed_webhooks(settings):
            await self._manager.run()

    def why_not_ready(self) -> str:
        """Say what is missing until it works; nothing where nothing is."""
        is_ready = self._manager is not None and self._manager.ready.is_set()
        return "" if is_ready else "its caches are not filled yet"

    @contextmanager
    def _installed_webhooks(self, settings: KueueSettings) -> Iterator[None]:
        installed = hooks(settings, wiring.INTEGRATIONS, self.find)
        self.install(installed)
        log.info("webhooks installed", count=len(installed))
        try:
            yield
        finally:
            self.install(())


async def served(client: Client, frameworks: Collection[str]) -> tuple[str, ...]:
    """Return those of some frameworks whose kinds a cluster serves."""
    served_frameworks = []
    for integration in wiring.INTEGRATIONS:
        if integration.framework in frameworks:
            with suppress(errors.NotFound):
                await client.read(f"/apis/{integration.kind.resource.api_version}")
                served_frameworks.append(integration.framework)
    return tuple(served_frameworks)

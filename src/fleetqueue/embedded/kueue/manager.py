"""A Kueue manager as one thing that can be started: its configuration, its controllers, its webhooks, its own API."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook, Find
from fleetqueue.api.aggregated_apis import Serve, not_served
from fleetqueue.api.kueue_pods import DEPLOYMENT, LEADER_WORKER_SET, POD, STATEFUL_SET
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.api.meta import Object
from fleetqueue.client import Client
from fleetqueue.embedded.kueue import wiring
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.webhooks.hooks import hooks
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.external_kinds import served_kinds
from fleetqueue.runtime.leader_election import LeaderElection
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

Install = Callable[[Sequence[AdmissionHook]], None]
"""Puts hooks in the place of those that were there."""
MakeControllers = Callable[[], Sequence[Controller]]

BUILT_IN: Final = (POD, DEPLOYMENT, STATEFUL_SET)
"""The frameworks whose kinds every cluster serves, beside those of jobs."""

log = Log("kueue")


class KueueManager:
    """Runs until cancelled: its webhooks at once, its controllers when it is elected.

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
        serve: Serve = not_served,
        more: MakeControllers = tuple,
        election: LeaderElection | None = None,
    ) -> None:
        """Take all that a manager needs.

        Args:
            find: reads objects for its webhooks.
            install: installs its webhooks.
            serve: serves its visibility API.
            more: makes controllers of other packages that run in the same manager, such as MultiKueue.
            election: decides which replica acts; None where there is only one.
        """
        self.cluster = cluster
        self.metrics = metrics
        self.settings = settings
        self.find = find
        self.install = install
        self.serve = serve
        self.more = more
        self.election = election
        self._manager: Manager | None = None
        self._stands_by = False

    async def run(self) -> None:
        settings = replace(self.settings, frameworks=await served(self.cluster.client, self.settings.frameworks))
        for framework in sorted(set(self.settings.frameworks) - set(settings.frameworks)):
            log.warning("kind of job is not served", framework=framework)
        parents = [*(await served_kinds(self.cluster.client, settings.external_frameworks)).values()]
        with self._installed_webhooks(settings, parents):
            if self.election is None:
                await self._act(settings, parents)
            else:
                self._stands_by = True
                await self.election.lead(partial(self._act, settings, parents))

    async def _act(self, settings: KueueSettings, parents: Sequence[type[Object]]) -> None:
        """Work with controllers that were made for it: what others did while this replica stood by is the past."""
        own = wiring.controllers(self.cluster, self.metrics, settings, parents, serve=self.serve)
        self._manager, self._stands_by = Manager(self.cluster, [*own, *self.more()]), False
        await self._manager.run()

    def why_not_ready(self) -> str:
        """Say what is missing until it works; nothing where nothing is, or where another replica works."""
        is_ready = self._manager is not None and self._manager.ready.is_set()
        return "" if is_ready or self._stands_by else "its caches are not filled yet"

    @contextmanager
    def _installed_webhooks(self, settings: KueueSettings, parents: Sequence[type[Object]]) -> Iterator[None]:
        installed = hooks(settings, wiring.INTEGRATIONS, self.find, parents)
        self.install(installed)
        log.info("webhooks installed", count=len(installed))
        try:
            yield
        finally:
            self.install(())


async def served(client: Client, frameworks: Collection[str]) -> tuple[str, ...]:
    """Return those of some frameworks whose kinds a cluster serves."""
    served_frameworks = [framework for framework in BUILT_IN if framework in frameworks]
    kinds: dict[str, type[Object]] = {LEADER_WORKER_SET: LeaderWorkerSet}
    kinds |= {integration.framework: integration.kind for integration in wiring.INTEGRATIONS}
    for framework, kind in kinds.items():
        if framework in frameworks:
            with suppress(errors.NotFound):
                await client.read(f"/apis/{kind.resource.api_version}")
                served_frameworks.append(framework)
    return tuple(served_frameworks)

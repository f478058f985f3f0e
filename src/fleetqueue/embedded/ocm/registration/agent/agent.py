"""A registration agent: it creates its ManagedCluster, gets a certificate, then renews its lease and reports status.

It begins with a kubeconfig in the secret `bootstrap-hub-kubeconfig`, whose user may do little. With that it introduces
its worker and asks for a certificate. When it has one, it comes as itself, until the certificate is another (a renewed
one), has ended, or the first kubeconfig names another hub: then it looks anew at what it has.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Secret
from fleetqueue.client import Client
from fleetqueue.client.certificates import content_of
from fleetqueue.client.kubeconfig import Connection, KubeconfigError, parse
from fleetqueue.embedded.ocm.registration.agent.certificates import CertificateController
from fleetqueue.embedded.ocm.registration.agent.cluster_creation import ManagedClusterCreatingController
from fleetqueue.embedded.ocm.registration.agent.kubeconfigs import bootstrap_text, hub_connection, is_valid
from fleetqueue.embedded.ocm.registration.agent.statuses import LeaseRenewal, StatusController
from fleetqueue.embedded.ocm.registration.certificates import agent_of
from fleetqueue.embedded.ocm.registration.names import BOOTSTRAP_SECRET, HUB_SECRET
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

Dial = Callable[[Connection], Client]
"""Opens a cluster by a kubeconfig's connection."""
More = Callable[[Cluster, Cluster, Connection], Sequence[Controller]]
"""Makes controllers for the hub and the worker, as soon as the agent is registered."""
AGAIN: Final = timedelta(seconds=30)
"""When a hub is tried again that cannot be opened; longer, and a repaired one is noticed later."""

log = Log("registration-agent")


def no_more(hub: Cluster, worker: Cluster, connection: Connection) -> Sequence[Controller]:
    return ()


class RegistrationAgent:
    def __init__(
        self, worker: Client, dial: Dial, metrics: Metrics, settings: RegistrationAgentSettings, *, more: More = no_more
    ) -> None:
        """Make the agent of one worker.

        Args:
            worker: the worker's own API, where the secrets are, too.
            dial: opens the hub.
            more: controllers of other packages that work on the hub as this agent, such as those of add-ons.
        """
        self.client = worker
        self.dial = dial
        self.metrics = metrics
        self.settings = settings
        self.more = more
        self.home = Cluster(settings.cluster, worker)
        self.doing = "has not begun"
        self._changed = asyncio.Event()
        self._drawn = clock.suffix()
        self.home.informer(Secret, namespace=settings.namespace).subscribe(lambda old, new: self._changed.set())

    async def run(self) -> None:
        """Keep the worker registered, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.home.run(), name="secrets")
            await self.home.synced()
            while True:
                await self._run_once()

    def why_not_ready(self) -> str:
        """Say what is missing until the hub knows the worker; empty where nothing is."""
        return self.doing

    async def _run_once(self) -> None:
        """Do what can be done with the kubeconfigs that there are, until they are others."""
        try:
            await self._run_with_secrets()
        except (KubeconfigError, errors.ApiError, errors.Unreachable) as error:
            self.doing = f"the hub cannot be opened: {error}"
            log.warning("cannot open the hub", cluster=self.settings.cluster, error=error)
            await self._wait(clock.now() + AGAIN)

    async def _run_with_secrets(self) -> None:
        bootstrap, connection = self._bootstrap(), hub_connection(self._secret(HUB_SECRET))
        if connection is not None and self._is_known(bootstrap):
            await self._run_registered(connection, bootstrap)
        elif bootstrap:
            await self._run_bootstrap(bootstrap)
        else:
            self.doing = f'secret "{self.settings.namespace}/{BOOTSTRAP_SECRET}" has no kubeconfig'
            await self._wait(None)

    async def _run_bootstrap(self, bootstrap: str) -> None:
        hub = self._hub(parse(bootstrap))
        self.doing = "waits for a certificate of the hub"
        creation = ManagedClusterCreatingController(hub, self.metrics, self.settings, done=self._changed.set)
        manager = Manager(hub, [creation, self._certificates(hub, bootstrap, is_known=False)])

        def is_needed() -> bool:
            is_in = creation.is_done and self._is_known(bootstrap)
            return not is_in and self._bootstrap() == bootstrap

        await self._run_while(is_needed, manager, hub)

    async def _run_registered(self, connection: Connection, bootstrap: str) -> None:
        hub, worker = self._hub(connection), Cluster(self.settings.cluster, self.client)
        status = StatusController(worker, hub, self.metrics, self.settings, hub_url=connection.server)
        lease = LeaseRenewal(hub, self.metrics, self.settings.cluster)
        certificates = self._certificates(hub, bootstrap, is_known=True)
        manager = Manager(hub, [lease, status, certificates, *self.more(hub, worker, connection)])
        self.doing = ""
        log.info("known to the hub", cluster=self.settings.cluster)

        def is_current() -> bool:
            is_same = hub_connection(self._secret(HUB_SECRET)) == connection and self._bootstrap() == bootstrap
            return is_same and self._is_known(bootstrap)

        certificate = content_of(connection.client_certificate or b"")
        until = certificate.until if certificate is not None else None
        await self._run_while(is_current, manager, hub, worker, until=until)

    async def _run_while(
        self,
        holds: Callable[[], bool],
        manager: Manager,
        hub: Cluster,
        worker: Cluster | None = None,
        *,
        until: datetime | None = None,
    ) -> None:
        """Work for as long as something holds; it is asked when a secret changes, and after a moment."""
        work = asyncio.create_task(_working(manager, worker), name=f"agent {self.settings.cluster}")
        try:
            while holds() and not work.done():
                await self._wait(until, work)
        finally:
            work.cancel()
            await asyncio.wait({work})
            await hub.client.close()
        if not work.cancelled():
            work.result()  # it ended by itself, which it should not: say why

    async def _wait(self, until: datetime | None, work: "asyncio.Task[None] | None" = None) -> None:
        """Wait for a change of the secrets, for a moment, or for the end of some work."""
        changed = asyncio.create_task(self._changed.wait())
        left = max((until - clock.now()).total_seconds(), 0) + 1 if until is not None else None
        try:
            await asyncio.wait({changed, *([work] if work else [])}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
        self._changed.clear()

    def _hub(self, connection: Connection) -> Cluster:
        return Cluster("hub", self.dial(connection), metrics=self.metrics)

    def _certificates(self, hub: Cluster, bootstrap: str, *, is_known: bool) -> CertificateController:
        agent = self._name()
        return CertificateController(
            self.client, hub, self.metrics, self.settings, agent=agent, bootstrap=bootstrap, is_known=is_known
        )

    def _secret(self, name: str) -> Secret | None:
        return self.home.get(Secret, name, self.settings.namespace)

    def _bootstrap(self) -> str:
        return bootstrap_text(self._secret(BOOTSTRAP_SECRET))

    def _is_known(self, bootstrap: str) -> bool:
        secret = self._secret(HUB_SECRET)
        return is_valid(secret, bootstrap, cluster=self.settings.cluster, agent=self._name(), now=clock.now())

    def _name(self) -> str:
        """Return which agent we are: as it is set, as our certificate says, or as was drawn."""
        if self.settings.agent:
            return self.settings.agent
        connection = hub_connection(self._secret(HUB_SECRET))
        named = agent_of(connection.client_certificate or b"") if connection is not None else None
        return named[1] if named is not None and named[0] == self.settings.cluster else self._drawn


async def _working(manager: Manager, worker: Cluster | None) -> None:
    """Run a manager on the hub, and follow the worker beside it."""
    async with asyncio.TaskGroup() as tasks:
        if worker is not None:
            tasks.create_task(worker.run(), name="worker")
            await worker.synced()
        await manager.run()

"""The process on the hub, `fleetqueue controller`: placement admission, credentials, and the hub half of the scores.

It waits for what it needs instead of failing: for the API server, for Kueue and Open Cluster Management, for its turn
as the leader. When the hub begins to serve something new that it can make use of, its parts are put together anew.
"""

import asyncio
import gc
import os
import socket
from collections.abc import Sequence
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.client.transport import connect
from fleetqueue.controllers.credentials.wiring import CredentialControllers
from fleetqueue.controllers.placement_admission.wiring import PlacementAdmission
from fleetqueue.controllers.placement_admission.workers import Dial
from fleetqueue.controllers.processes.capabilities import HubCapabilities, NotInstalled, detect
from fleetqueue.controllers.processes.probes import Probes
from fleetqueue.controllers.processes.process import end, until_told_to_stop
from fleetqueue.controllers.processes.settings import HubSettings
from fleetqueue.controllers.usage_scores.silent_agents import SilentAgents
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.leader_election import LeaderElection, identity_of
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

STARTING: Final = "starting"
LOOK_AGAIN: Final = 5.0
"""Seconds until a hub that cannot be used yet is looked at again."""

log = Log("hub")


class HubParts:
    """Everything that works on the hub, for what the hub serves now."""

    def __init__(
        self, hub: Cluster, metrics: Metrics, settings: HubSettings, capabilities: HubCapabilities, dial: Dial
    ) -> None:
        self.placement_admission = PlacementAdmission(
            hub,
            metrics,
            settings.placement_admission,
            limit=capabilities.listed_clusters,
            has_profiles=bool(capabilities.credentials.profile_fields),
            hub_uid=capabilities.hub_uid,
            dial=dial,
        )
        self.credentials = CredentialControllers(
            hub,
            metrics,
            settings.credentials,
            capabilities=capabilities.credentials,
            hub_uid=capabilities.hub_uid,
            dial=dial,
        )
        self.silent_agents = SilentAgents(hub, metrics, settings.silent_agents)

    @property
    def controllers(self) -> Sequence[Controller]:
        return (*self.placement_admission.controllers, *self.credentials.controllers, self.silent_agents)

    async def close(self) -> None:
        await self.placement_admission.close()


class HubProcess:
    def __init__(self, connection: Connection, settings: HubSettings, *, dial: Dial = connect, host: str = "") -> None:
        """`host` is where it runs, as the Lease shall tell it: the name of its pod, or else of the machine."""
        self.settings = settings.filled()
        self.host = host or f"{socket.gethostname()}_{os.getpid()}"
        self.dial = dial
        self.client = dial(connection)
        self.metrics = Metrics()
        self._waits_for = STARTING
        """What is missing until this replica works; empty while it stands by."""
        self._manager: Manager | None = None
        self._has_process = False

    async def run(self) -> None:
        """Work until the process is told to stop; raises LeadershipLost when another replica may act."""
        self._has_process = True
        probes = Probes(self.settings.probes, why_not_ready=self.why_not_ready, registry=lambda: self.metrics.registry)
        try:
            async with probes:
                await until_told_to_stop(self.serve())
        finally:
            await self.client.close()

    def why_not_ready(self) -> str:
        """Say what is missing; empty where this replica works, or stands by for the one that does."""
        manager = self._manager
        if manager is None:
            return self._waits_for
        if manager.ready.is_set():
            return ""
        problems = "; ".join(f"{kind}: {why}" for kind, why in manager.hub.problems().items())
        return f"caches are not filled yet{': ' if problems else ''}{problems}"

    async def serve(self) -> None:
        """Wait for what is needed, and for the lease where replicas elect a leader, then work; until cancelled."""
        await self._wait_for_hub()
        settings = self.settings.leader_election
        election = LeaderElection(self.client, identity_of(self.host), settings)
        if not settings.enabled:
            await election.act_without_waiting(self._work)
            return
        self._waits_for = ""
        log.info("waiting for the lease", lease=f"{settings.namespace}/{settings.name}")
        await election.lead(self._work)

    async def _work(self) -> None:
        while True:
            capabilities = await self._wait_for_hub()
            await self._work_with(capabilities)
            log.info("hub serves other APIs now, starting anew")

    async def _work_with(self, capabilities: HubCapabilities) -> None:
        """Work until the hub serves something else."""
        self.metrics = Metrics()
        self.metrics.leading.set(1)
        hub = Cluster("hub", self.client, metrics=self.metrics)
        parts = HubParts(hub, self.metrics, self.settings, capabilities, self.dial)
        self._manager = Manager(hub, parts.controllers)
        working = asyncio.create_task(self._manager.run(), name="manager")
        looking = asyncio.create_task(self._changed(capabilities), name="capabilities")
        sparing = asyncio.create_task(self._spare_caches(self._manager.ready), name="garbage collection")
        try:
            await asyncio.wait({working, looking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end(sparing)
            await end(looking)
            await end(working)
            await parts.close()
            self._manager, self._waits_for = None, STARTING
            if self._has_process:
                gc.unfreeze()  # the caches of these parts are garbage now
        if not working.cancelled():
            working.result()

    async def _spare_caches(self, filled: asyncio.Event) -> None:
        """Let garbage collection leave alone what is there once the caches are filled, where the process is ours.

        It lives as long as the process does. With 50,000 Workloads each full round would take 0.1 s to look at it all.
        """
        await filled.wait()
        if self._has_process:
            gc.freeze()

    async def _wait_for_hub(self) -> HubCapabilities:
        """Return what the hub serves, as soon as that is enough."""
        while True:
            try:
                capabilities = await detect(self.client)
            except (NotInstalled, errors.ApiError, errors.Unreachable) as error:
                self._say_what_is_missing(str(error))
                await asyncio.sleep(clock.jitter(LOOK_AGAIN))
            else:
                return capabilities

    async def _changed(self, known: HubCapabilities) -> None:
        """Return when the hub serves more or less than was known."""
        capabilities: HubCapabilities | None = known
        while capabilities in (known, None):
            await asyncio.sleep(clock.jitter(self.settings.recheck))
            try:
                capabilities = await detect(self.client)
            except (NotInstalled, errors.ApiError, errors.Unreachable):
                capabilities = None  # no answer about what is served; watches that fail tell of it themselves

    def _say_what_is_missing(self, why: str) -> None:
        if why != self._waits_for:
            log.warning("cannot work yet", why=why, again_in=LOOK_AGAIN)
        self._waits_for = why

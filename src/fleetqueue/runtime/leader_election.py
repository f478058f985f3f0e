"""Only one of several replicas acts: the one that holds the Lease.

Time is the loop's, never the wall clock's: another holder counts as gone when its Lease has not changed for a whole
lease duration as *we* saw it, so that clocks that differ cannot make two leaders. A leader that cannot renew within
the renew deadline stops acting before anybody else may start; one that sees another in its place stops at once. The
deadline counts from when a renewal was begun, not from when its answer came, and bounds every call.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import micro_timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import OURS
from fleetqueue.runtime.logs import Log

log = Log("leader")


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    name: str = "fleetqueue-controller"
    namespace: str = "fleetqueue-system"
    duration: float = 15.0
    """Seconds that others wait for a silent leader."""
    renew_deadline: float = 10.0
    """Seconds after which a leader that cannot renew stops; less than `duration`, or two might act."""
    retry: float = 2.0
    """Seconds between two attempts to renew or to take the lease."""


class LeadershipLost(Exception):
    """Another replica acts now, or may soon; this process must stop."""


class LeaderElection:
    def __init__(
        self, client: Client, identity: str, settings: LeaseSettings, *, labels: Mapping[str, str] = OURS
    ) -> None:
        """`labels` are those of the lease; without them it is nobody's of ours."""
        self.client = client
        self.identity = identity
        self.settings = settings
        self.labels = dict(labels)
        self._seen = ("", 0.0)
        """The lease's last version, and when we first saw it."""
        self._holder = ""
        self._held: Lease | None = None
        """The lease as we wrote it last; None where that is not sure."""
        self._deadline = 0.0
        """Until when we may act without another renewal; it counts from when the last one was begun."""

    async def lead(self, act: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, act while holding it, give it back; raises LeadershipLost when it could not be kept."""
        await self._acquire()
        log.info("leading", identity=self.identity)
        acting = asyncio.ensure_future(act())
        keeping = asyncio.create_task(self._keep(), name="leader lease")
        try:
            await asyncio.wait({acting, keeping}, return_when=asyncio.FIRST_COMPLETED)
            lost = keeping.done()
        finally:
            failures = [await _stop(task) for task in (acting, keeping)]
            await self._release()
        if lost:
            raise LeadershipLost(self._loss()) from failures[0] or failures[1]
        await acting

    async def act_without_waiting(self, act: Callable[[], Awaitable[None]]) -> None:
        """Act at once, and renew the lease meanwhile unless another does: who reads it sees that somebody acts."""
        renewing = asyncio.create_task(self._renew(), name="lease without election")
        try:
            await act()
        finally:
            await _stop(renewing)
            await self._release()

    async def _renew(self) -> None:
        while True:
            await self._try(self.settings.renew_deadline)
            await asyncio.sleep(self.settings.renew_deadline)

    async def _acquire(self) -> None:
        while not await self._try(self.settings.renew_deadline):  # noqa: ASYNC110 - a lease has no event to wait for
            await asyncio.sleep(clock.jitter(self.settings.retry))

    async def _keep(self) -> None:
        """Renew until that has failed for a whole renew deadline, or another is seen to hold the lease."""
        while (left := self._left()) > 0:
            await asyncio.sleep(min(self.settings.retry, left))
            if not await self._try(self._left()) and self._is_taken:
                return

    async def _try(self, limit: float) -> bool:
        """Take or renew the lease within a time; False where another holds it or nobody could be asked."""
        began = clock.monotonic()
        try:
            async with asyncio.timeout(limit):
                taken = await self._take()
        except (errors.Conflict, errors.AlreadyExists):
            return False
        except (errors.ApiError, errors.Unreachable, TimeoutError) as error:
            log.warning("lease not reached", identity=self.identity, error=error or "timed out")
            return False
        if taken:
            self._holder = self.identity
            self._deadline = began + self.settings.renew_deadline
        return taken

    async def _take(self) -> bool:
        """Take or renew the lease; who holds it writes without reading, as long as nobody else has written."""
        if (held := self._held) is not None:
            self._held = None
            with suppress(errors.Conflict, errors.NotFound):
                await self._write(held)
                return True
        settings = self.settings
        try:
            lease = Lease.view(await self.client.get(Lease.resource, settings.name, settings.namespace))
        except errors.NotFound:
            spec = {**self._spec(transitions=0), "acquireTime": micro_timestamp(clock.now())}
            manifest = Lease.manifest(settings.name, settings.namespace, labels=self.labels, spec=spec)
            self._held = Lease.view(await self.client.create(Lease.resource, manifest))
            return True
        self._holder = lease.spec.holder_identity
        if self._is_taken and not self._is_silent(lease):
            return False
        await self._write(lease)
        return True

    async def _write(self, lease: Lease) -> None:
        """Write that we hold a lease, if it still is as it was seen."""
        is_new = lease.spec.holder_identity != self.identity
        spec = self._spec(transitions=lease.spec.lease_transitions + is_new)
        if is_new:
            spec["acquireTime"] = micro_timestamp(clock.now())
        patch = {"metadata": {**lease.precondition, "labels": self.labels}, "spec": spec}
        settings = self.settings
        self._held = Lease.view(await self.client.merge(Lease.resource, settings.name, settings.namespace, patch))

    @property
    def _is_taken(self) -> bool:
        return self._holder not in ("", self.identity)

    def _left(self) -> float:
        return self._deadline - clock.monotonic()

    def _loss(self) -> str:
        lease = f"lease {self.settings.namespace}/{self.settings.name}"
        return f"{lease} is held by {self._holder}" if self._is_taken else f"{lease} was not renewed in time"

    def _is_silent(self, lease: Lease) -> bool:
        version, since = self._seen
        if lease.metadata.resource_version != version:
            self._seen = (lease.metadata.resource_version, clock.monotonic())
            return False
        return clock.monotonic() - since > (lease.spec.lease_duration_seconds or self.settings.duration)

    async def _release(self) -> None:
        """Let the next one start at once; a lease that is no longer ours is left alone."""
        settings = self.settings
        try:
            async with asyncio.timeout(settings.retry):
                lease = Lease.view(await self.client.get(Lease.resource, settings.name, settings.namespace))
                if lease.spec.holder_identity == self.identity:
                    patch = {"metadata": lease.precondition, "spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
                    await self.client.merge(Lease.resource, settings.name, settings.namespace, patch)
        except (errors.ApiError, errors.Unreachable, TimeoutError) as error:
            log.warning("lease not released", identity=self.identity, error=error or "timed out")

    def _spec(self, *, transitions: int) -> dict[str, object]:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self.settings.duration),
            "leaseTransitions": transitions,
            "renewTime": micro_timestamp(clock.now()),
        }


def identity_of(host: str) -> str:
    """Name a replica so that no other, also of an earlier start, has the same name."""
    return f"{host}_{clock.suffix()}"


async def _stop(task: "asyncio.Future[None]") -> BaseException | None:
    """Cancel a task and wait until it has really ended; return its failure."""
    task.cancel()
    await asyncio.wait({task})
    return None if task.cancelled() else task.exception()

"""Renew a Lease on the hub, and stop the copies that were sent in trust of it when no renewal is acknowledged.

Reads:   Lease (hub, the cluster's own namespace; worker, the agent's own namespace), Workload (worker)
Writes:  Lease (both); Workload spec.active, and deletes copies and their jobs (worker)

The deadline counts from when the last acknowledged renewal was sent, by a clock that goes on while the machine is
suspended. Past it, whatever the reason, the copies are stopped: nobody here can know whether the hub waits. A renewal
that arrives after that ends it, unless the hub has marked the Lease: then jobs may run elsewhere, and what is here is
stopped first. What was begun to be stopped is never started again.
"""

import asyncio
import math
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.authentication_v1 import SELF_REVIEWS, account_reference, self_review
from fleetqueue.api.authorization_v1 import REVIEWS, access_review, is_allowed
from fleetqueue.api.conditions import micro_timestamp, timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fence import LEASE, PASSED, STOPPED, FenceLease
from fleetqueue.api.meta import OwnerReference
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.controllers.add_on_owner import owned_by_add_on
from fleetqueue.controllers.fence.copy_steps import Step, is_promised, next_step
from fleetqueue.controllers.fence.promise import Promise, read
from fleetqueue.controllers.fence.settings import FenceSettings
from fleetqueue.runtime.cluster import OURS, Cluster, is_ours
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

TURN_SECONDS: Final = 1.0
"""Between two looks at the clock: timers stand still while the machine is suspended."""
RETRY_SECONDS: Final = 2.0
"""Between two attempts to renew, once one has failed."""
ANSWER_SECONDS: Final = 5.0
"""How long the hub may take to acknowledge a renewal."""
PAGE: Final = 100
STOPPING_VERBS: Final = ("list", "patch", "delete")
"""What stopping needs of Workloads."""
AT_ONCE: Final = 8
"""How many copies are stopped at once."""

log = Log("fence")


class FenceMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.stopped = Counter(
            "fleetqueue_fenced_copies_total",
            "Copies of jobs that were stopped since the hub had not acknowledged a renewal in time",
            registry=registry,
        )
        self.left = Gauge(
            "fleetqueue_fence_seconds_left",
            "Seconds until copies are stopped unless the hub acknowledges a renewal; infinite where none are promised",
            registry=registry,
        )
        self.left.set(math.inf)


class FenceAgent:
    """Keep the promise of one worker; the worker's `name` is that of its ManagedCluster and namespace."""

    def __init__(
        self, worker: Cluster, hub: Cluster, metrics: Metrics, settings: FenceSettings, *, namespace: str, add_on: str
    ) -> None:
        """`namespace`: the agent's own one on the worker, where it keeps what it has promised; `add_on`: the OCM add-on
        that installed the agent, if one did: the Lease goes when it goes."""
        self.worker = worker
        self.hub = hub
        self.settings = settings
        self.namespace = namespace
        self.add_on = add_on
        self.metrics = FenceMetrics(metrics.registry)
        self.identity = f"{worker.name}_{clock.suffix()}"
        self._started = clock.since_boot()
        self._promise = Promise()
        self._next_renewal = -math.inf
        self._has_rights = False
        """Whether it is known that we may stop copies."""
        self._is_known = False
        """Whether the Lease on the hub is surely the one that was promised by."""
        self._is_passed = False
        """Whether the hub has let jobs of this cluster go elsewhere, and what is here is not stopped yet."""
        self._is_answered = False
        """Whether all of it is stopped, so that the mark which says so can go."""
        self._version = ""
        """Of the Lease as we know it: a renewal that is late must not undo a newer one, or what the hub wrote."""
        self._is_stopping = True
        """Whether copies may be left that were begun to be stopped, as after a restart."""
        self._since: dict[str, float] = {}
        """When each copy, by its uid, was first seen to be stopping."""
        self._problems: dict[str, str] = {}
        """What is wrong with renewing and with stopping, as far as it was said."""

    async def run(self) -> None:
        """Keep the promise until cancelled."""
        await self._remember()
        while True:
            await self._turn()
            await asyncio.sleep(TURN_SECONDS)

    @property
    def seconds_left(self) -> float:
        deadline = self._promise.deadline(self.settings.after, boot=clock.boot(), started=self._started)
        return deadline - clock.since_boot()

    async def _turn(self) -> None:
        """Renew when it is time, and stop copies when it is too late."""
        if clock.since_boot() >= self._next_renewal or self.seconds_left <= 0:
            await self._try_to_renew()
        self.metrics.left.set(self.seconds_left if self._promise.lease else math.inf)
        is_expired = self._is_passed or self.seconds_left <= 0
        if (is_expired and self._promise.lease) or self._is_stopping:
            await self._try_to_stop(is_expired=is_expired)

    # The promise

    async def _remember(self) -> None:
        """Read what was promised before this start, as soon as the worker answers."""
        while True:
            try:
                raw = await self.worker.client.find(Lease.resource, LEASE, self.namespace)
            except (errors.ApiError, errors.Unreachable) as error:
                self._say("what was promised cannot be read", str(error))
                await asyncio.sleep(RETRY_SECONDS)
            else:
                self._promise = read(raw) if raw is not None else Promise()
                return

    async def _shorten(self) -> None:
        """Write down that a renewal is for a shorter time from now on, before the hub can learn it from one.

        Otherwise a later start with the longer time again would not know that the hub counts the shorter one.
        """
        if self._promise.duration > self.settings.after:
            shorter = msgspec.structs.replace(self._promise, duration=self.settings.after)
            await self._write_down(shorter)
            self._promise = shorter

    async def _write_down(self, promise: Promise) -> None:
        metadata = {"labels": OURS, "annotations": promise.written()}
        try:
            await self.worker.client.merge(Lease.resource, LEASE, self.namespace, {"metadata": metadata})
        except errors.NotFound:
            lease = Lease.manifest(LEASE, self.namespace, labels=dict(OURS), annotations=promise.written(), spec={})
            account = account_reference(await self.worker.client.post(SELF_REVIEWS, self_review()), self.namespace)
            if account is not None:
                lease["metadata"]["ownerReferences"] = [account]  # who removes the agent removes its account
            await self.worker.client.create(Lease.resource, lease)

    async def _try_to_renew(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._renew()
        except (errors.ApiError, errors.Unreachable, TimeoutError) as error:
            self._next_renewal = clock.since_boot() + RETRY_SECONDS
            self._say("the Lease is not renewed", str(error) or "timed out")
            return
        self._next_renewal = clock.since_boot() + clock.jitter(self.settings.renew_interval)
        self._say("the Lease is not renewed")

    async def _renew(self) -> None:
        if not self._has_rights:
            await self._check_rights()
        await self._shorten()
        lease = self._promise.lease if self._is_known else await self._take_lease()
        sent = clock.since_boot()
        try:
            answer = await self._send_renewal(lease)
        except (errors.NotFound, errors.Conflict):
            # It is looked for anew. Until another one is found, what was promised holds: a proxy may have answered.
            self._is_known = False
            raise
        promise = Promise(lease, clock.boot(), sent, self.settings.after)
        self._promise = promise
        self._note(answer)
        try:
            await self._write_down(promise)
            await self._check_rights()  # a role may be changed at any time
        except (errors.ApiError, errors.Unreachable) as error:
            log.warning("renewal not written down", error=error)  # after a restart the deadline is an earlier one

    async def _check_rights(self) -> None:
        """Raise Forbidden where we may not stop copies: then nothing more is promised."""
        for verb in STOPPING_VERBS:
            question = access_review(verb, kueue.GROUP, kueue.Workload.resource.plural)
            if not is_allowed(await self.worker.client.post(REVIEWS, question)):
                self._has_rights = False
                raise errors.Forbidden(f"the agent may not {verb} Workloads on {self.worker.name}; update its role")
        self._has_rights = True

    async def _take_lease(self) -> str:
        """Return the uid of the Lease on the hub, made where it is missing; it is written down before it is renewed."""
        raw = await self.hub.client.find(Lease.resource, LEASE, self.worker.name)
        if raw is None:
            raw = await self.hub.client.create(Lease.resource, await self._new_lease())
        lease = Lease.view(raw)
        if not is_ours(lease):
            raise errors.Conflict(f"{lease} exists and was not made by fleetqueue; rename or delete it")
        if lease.uid != self._promise.lease:
            await self._write_down(Promise(lease.uid))
            self._promise = Promise(lease.uid)  # who trusted an earlier one waits
        self._note(raw)
        self._is_known = True
        return lease.uid

    def _note(self, raw: Manifest) -> None:
        """Note what the hub has: which version, and whether it let jobs go elsewhere."""
        is_passed = FenceLease.read(raw).is_passed
        if is_passed and not self._is_passed:
            log.warning("the hub let jobs go elsewhere, stopping what is here", cluster=self.worker.name)
        self._is_passed, self._is_answered = is_passed, False
        self._version = str(raw["metadata"]["resourceVersion"])

    async def _new_lease(self) -> Manifest:
        lease = Lease.manifest(LEASE, self.worker.name, labels=dict(OURS), spec={})
        return await owned_by_add_on(self.hub.client, self.add_on, lease)

    async def _send_renewal(self, lease: str) -> Manifest:
        metadata: Manifest = {"uid": lease, "resourceVersion": self._version}
        if self._is_answered:
            metadata["annotations"] = {PASSED: None}
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self.settings.after),
            "renewTime": micro_timestamp(clock.now()),
        }
        patch = {"metadata": metadata, "spec": spec}
        return await self.hub.client.merge(Lease.resource, LEASE, self.worker.name, patch)

    # Stopping

    async def _try_to_stop(self, *, is_expired: bool) -> None:
        try:
            await self._stop(is_expired=is_expired)
            if self._is_passed:
                self._is_answered, self._next_renewal = True, -math.inf
        except (errors.ApiError, errors.Unreachable) as error:
            self._say("copies are not stopped", str(error))
        else:
            self._say("copies are not stopped")

    async def _stop(self, *, is_expired: bool) -> None:
        """Take each promised copy one step further; raises where one could not be."""
        copies = await self._promised()
        now = clock.since_boot()
        self._since = {c.uid: self._since.get(c.uid, now) for c in copies if STOPPED in c.metadata.annotations}
        steps = [
            (copy, next_step(copy, is_expired=is_expired, stopping_for=now - self._since.get(copy.uid, now)))
            for copy in copies
        ]
        self._is_stopping = any(step is not Step.LEAVE for _, step in steps)
        turns = asyncio.Semaphore(AT_ONCE)

        async def take(copy: kueue.Workload, step: Step) -> None:
            async with turns:
                await self._take(copy, step)

        failures = await asyncio.gather(*(take(copy, step) for copy, step in steps), return_exceptions=True)
        for failure in failures:
            if isinstance(failure, BaseException):
                raise failure

    async def _promised(self) -> list[kueue.Workload]:
        """Return the copies that were sent in trust of our Lease, or that were begun to be stopped."""
        pages = self.worker.client.pages(kueue.Workload.resource, labels=kueue.ORIGIN_LABEL, limit=PAGE)
        try:
            copies = [kueue.Workload.view(kueue.Workload.trim(raw)) async for page in pages for raw in page.items]
        except errors.NotFound:
            return []  # no Kueue, no copies
        return [c for c in copies if is_promised(c, self._promise.lease) or STOPPED in c.metadata.annotations]

    async def _take(self, copy: kueue.Workload, step: Step) -> None:
        if step is Step.DEACTIVATE:
            await self._deactivate(copy)
        elif step is Step.DELETE:
            for owner in copy.metadata.owner_references:
                await self._delete_job(copy, owner)
            await self.worker.client.delete_seen(copy)
            log.info("copy deleted", workload=copy.key)

    async def _deactivate(self, copy: kueue.Workload) -> None:
        metadata = {"uid": copy.uid, "annotations": {STOPPED: timestamp(clock.now())}}
        patch = {"metadata": metadata, "spec": {"active": False}}
        try:
            await self.worker.client.merge(copy.resource, copy.name, copy.namespace, patch)
        except (errors.NotFound, errors.Conflict):
            return  # it has gone
        self.metrics.stopped.inc()
        log.warning("copy stopped", workload=copy.key, cluster=self.worker.name)
        note = f"stopped: the hub has not acknowledged a renewal of Lease {LEASE} in time, and may start it elsewhere"
        await self.worker.events.warning(copy, "Fenced", note)

    async def _delete_job(self, copy: kueue.Workload, owner: OwnerReference) -> None:
        """Delete a job; without its Workload, Kueue keeps from running what we may not delete."""
        try:
            plural = await self.worker.client.plural_of(owner.api_version, owner.kind)
            if plural:
                group, _, version = owner.api_version.rpartition("/")
                resource = Resource(group, version, owner.kind, plural)
                await self.worker.client.delete(resource, owner.name, copy.namespace, uid=owner.uid)
        except (errors.NotFound, errors.Conflict):
            pass
        except errors.Forbidden as error:
            log.warning("job not deleted", workload=copy.key, error=error)

    def _say(self, what: str, problem: str = "") -> None:
        """Log what is wrong with something once, and that it is over."""
        known = self._problems.pop(what, "")
        if problem:
            self._problems[what] = problem
        if problem and problem != known:
            log.warning(what, cluster=self.worker.name, problem=problem, seconds_left=round(self.seconds_left))
        elif known and not problem:
            log.info("well again", cluster=self.worker.name, what=what)

"""Hold works until what they put onto the worker has gone, and take that away.

Reads:   ManifestWork of one cluster on the hub, AppliedManifestWork and the objects that it names on the worker
Writes:  ManifestWork: its finalizer, its condition Deleting; deletes objects; AppliedManifestWork: its status, its
         finalizer, and itself
Mirrors: OCM work/spoke/controllers/finalizercontroller
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.conditions import TRUE, Condition, timestamp
from fleetqueue.embedded.ocm.work import applied_resources
from fleetqueue.embedded.ocm.work.agent import AgentController
from fleetqueue.embedded.ocm.work.appliers import Appliers
from fleetqueue.embedded.ocm.work.settings import NEVER, WorkAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import write_condition, write_status

log = Log("work")


class WorkFinalizerController(AgentController):
    """Keeps a finalizer on every work that lives; before, nothing of it is applied."""

    name = "manifest-work-finalizer"
    concurrency = 10

    async def reconcile(self, key: str) -> None:
        this = self.find(key)
        if this is None:
            return
        if not this.is_deleting:
            await self.hub.add_finalizer(this, work.WORK_FINALIZER)
        elif not await self._is_still_applied(this):
            await self.hub.remove_finalizer(this, work.WORK_FINALIZER)
            log.info("work has gone from the worker", work=this.key)

    async def _is_still_applied(self, this: work.ManifestWork) -> bool:
        """Begin to take away what is on the worker; its own controller does it, and wakes us when all has gone."""
        applied = self.find_applied(this.name)
        if applied is None:
            return False
        if not applied.is_deleting:
            await self._say_deleting(this)
            return await self.worker.client.delete_seen(applied)
        return True

    async def _say_deleting(self, this: work.ManifestWork) -> None:
        condition = Condition(
            type=work.DELETING,
            status=TRUE,
            reason="WorkDeleting",
            message="ManifestWork is being deleted",
            observed_generation=this.metadata.generation,
        )
        await write_condition(self.hub, this, condition)


log = Log("work")


class AppliedWorkController(AgentController):
    """Deletes the objects of an AppliedManifestWork that is deleted; a key is its name."""

    name = "applied-manifest-work"
    concurrency = 10

    def __init__(
        self, hub: Cluster, worker: Cluster, metrics: Metrics, settings: WorkAgentSettings, *, appliers: Appliers
    ) -> None:
        super().__init__(hub, worker, metrics, settings)
        self.appliers = appliers

    def watches(self) -> Iterable[Watch[Any]]:
        return ()

    def worker_watches(self) -> Iterable[Watch[Any]]:
        return (Watch(work.AppliedManifestWork, by_key),)

    async def reconcile(self, key: str) -> None:
        applied = self.worker.get(work.AppliedManifestWork, key)
        if applied is None or not applied.is_deleting or applied.spec.agent_id != self.settings.id:
            return
        if work.APPLIED_WORK_FINALIZER not in applied.metadata.finalizers:
            return
        resources = applied.status.applied_resources
        owner = applied_resources.owner_of(applied)
        left = await applied_resources.delete(self.worker.client, self.appliers, resources, owner)
        live, wanted = map(applied_resources.status_of, (resources, left.resources))
        is_changed = await write_status(self.worker, applied, live, wanted) is not None
        if left.error is not None:
            raise left.error
        if left.resources:
            raise errors.RetryLater(applied_resources.LOOK_AGAIN, f"{len(left.resources)} objects are still going")
        if is_changed:
            return  # what was written wakes us
        await self.worker.remove_finalizer(applied, work.APPLIED_WORK_FINALIZER)


class UnmanagedAppliedWorkController(AgentController):
    """Deletes, after a time of grace, AppliedManifestWorks whose work has gone without a deletion; a key is a name."""

    name = "applied-manifest-work-eviction"

    def watches(self) -> Iterable[Watch[Any]]:
        cluster = self.settings.cluster
        return (
            Watch(work.ManifestWork, lambda manifest_work: (self.applied_name(manifest_work.name),), namespace=cluster),
        )

    def worker_watches(self) -> Iterable[Watch[Any]]:
        return (Watch(work.AppliedManifestWork, by_key),)

    async def reconcile(self, key: str) -> None:
        applied = self.worker.get(work.AppliedManifestWork, key)
        if applied is None or applied.is_deleting or applied.spec.agent_id != self.settings.id:
            return
        if not self._is_unmanaged(applied):
            await self._date(applied, None)
            return
        since = applied.status.eviction_start_time
        if since is None:
            await self._date(applied, timestamp(clock.now()))
            return
        left = (since + timedelta(seconds=self.settings.eviction_grace) - clock.now()).total_seconds()
        if left > 0:
            raise errors.RetryLater(left, "its work may come back")
        await self.worker.client.delete(applied.resource, applied.name, uid=applied.uid)
        log.info("work evicted", work=applied.spec.manifest_work_name)

    def _is_unmanaged(self, applied: work.AppliedManifestWork) -> bool:
        if self.settings.eviction_grace >= NEVER:
            return False
        is_of_this_hub = applied.name.startswith(self.settings.hub_hash)
        return not is_of_this_hub or self.find(applied.spec.manifest_work_name) is None

    async def _date(self, applied: work.AppliedManifestWork, since: str | None) -> None:
        have = applied.status.eviction_start_time
        live = {"evictionStartTime": timestamp(have)} if have else {}
        await write_status(self.worker, applied, live, {"evictionStartTime": since} if since else {})

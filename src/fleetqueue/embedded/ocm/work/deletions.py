"""Hold works until what they put onto the worker has gone.

Reads:   ManifestWork of one cluster on the hub, AppliedManifestWork on the worker
Writes:  the finalizer of works and their condition Deleting; deletes AppliedManifestWorks
Mirrors: OCM work/spoke/controllers/finalizercontroller/{add_finalizer,manifestwork_finalize}_controller.go
"""

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import work_v1 as work
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import TRUE, Condition
from fleetqueue.embedded.ocm.work.agent import AgentController
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import write_status

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
            try:
                await self.worker.client.delete(applied.resource, applied.name, uid=applied.uid)
            except errors.NotFound:
                return False
        return True

    async def _say_deleting(self, this: work.ManifestWork) -> None:
        live = self.live_status(this)
        said = Condition(
            type=work.DELETING,
            status=TRUE,
            reason="WorkDeleting",
            message="ManifestWork is being deleted",
            observed_generation=this.metadata.generation,
        )
        wanted = {**live, "conditions": with_conditions(live.get("conditions") or [], [said], clock.now())}
        await write_status(self.hub, this, live, wanted)

"""Write the Workloads of jobs."""

from collections.abc import Sequence
from typing import Any

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import says
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, precondition_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields, workload_endings
from fleetqueue.rules.workload_admission import applied_over
from fleetqueue.runtime.admission_status import apply_admission
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log

RESOURCE = kueue.Workload.resource

log = Log("kueue")


class WorkloadWrites:
    def __init__(self, hub: Cluster, events: Recorder) -> None:
        self.hub = hub
        self.events = events

    async def finish(self, job: Object | None, workload: Manifest, reason: str, message: str) -> Manifest:
        """Say that a Workload's job has ended."""
        if says(workload, kueue.FINISHED):
            return workload
        status = workload_endings.finished(workload, reason, message, clock.now())
        written = await apply_admission(self.hub.client, applied_over(workload, status))
        log.info("workload finished", workload=_key(workload), reason=reason)
        if job is not None:
            await self._say_finished(job, workload)
        return written

    async def let_finished_go(self, job: Object, workload: Manifest) -> None:
        if names.IN_USE in (workload["metadata"].get("finalizers") or ()):
            await self._say_finished(job, workload)
            await self.let_go(workload)

    async def let_go(self, workload: Manifest) -> None:
        view = kueue.QueuedWorkload.view(workload)
        try:
            await self.hub.remove_finalizer(view, names.IN_USE)
        except errors.NotFound:
            return

    async def orphan(self, workload: Manifest) -> None:
        """Finish a Workload whose job has gone, and let it go."""
        if "deletionTimestamp" not in workload["metadata"] and job_fields.controller(workload) is not None:
            message = "The workload's owner no longer exists"
            workload = await self.finish(None, workload, "OwnerNotFound", message)
        await self.let_go(workload)

    async def release(self, workload: Manifest, evicted: Condition) -> None:
        status = workload_endings.released(workload, evicted, clock.now())
        await apply_admission(self.hub.client, applied_over(workload, status))
        log.info("quota given back", workload=_key(workload), reason=evicted.reason)

    async def set_reclaimable(self, workload: Manifest, wanted: Sequence[Manifest]) -> bool:
        """Write how many pods will not come again; return whether anything was written."""
        counts = {each["name"]: each.get("count", 1) for each in workload["spec"]["podSets"]}
        limited = [{**each, "count": min(each["count"], counts.get(each["name"], each["count"]))} for each in wanted]
        if limited == ((workload.get("status") or {}).get("reclaimablePods") or []):
            return False
        await self._apply(workload, {"reclaimablePods": limited}, names.RECLAIMABLE_PODS_MANAGER)
        return True

    async def set_condition(self, workload: Manifest, told: Condition) -> None:
        metadata = workload["metadata"]
        live = kueue.Workload.view(workload).status.conditions
        dated = conditions.dated([told], live, now=clock.now())[0]
        said = {**dated, "observedGeneration": metadata.get("generation", 0)}
        await self._apply(workload, {"conditions": [said]}, f"{names.JOB_MANAGER}-{told.type}")

    async def change(self, workload: Manifest, **fields: Any) -> Manifest:
        """Merge fields into the very Workload that was seen."""
        metadata = workload["metadata"]
        patch = {**fields, "metadata": {**fields.get("metadata", {}), **precondition_of(metadata)}}
        return await self.hub.client.merge(RESOURCE, metadata["name"], metadata["namespace"], patch)

    async def delete(self, workload: Manifest) -> bool:
        """Delete a Workload; return whether that was asked for only now."""
        await self.let_go(workload)
        metadata = workload["metadata"]
        if "deletionTimestamp" in metadata:
            return False
        try:
            await self.hub.client.delete(RESOURCE, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        except errors.NotFound:
            return False
        return True

    async def _apply(self, workload: Manifest, status: Manifest, manager: str) -> None:
        metadata = workload["metadata"]
        manifest = kueue.Workload.manifest(metadata["name"], metadata["namespace"], status=status)
        manifest["metadata"]["uid"] = metadata["uid"]
        await self.hub.client.apply(RESOURCE, manifest, subresource="status", manager=manager)

    async def _say_finished(self, job: Object, workload: Manifest) -> None:
        await self.events.normal(job, "FinishedWorkload", f"Workload '{_key(workload)}' is declared finished")


def _key(workload: Manifest) -> str:
    return f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"

"""Write the Workloads of jobs, and what their status says: the job has ended, it has stopped, its pods are ready."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.conditions import FALSE, TRUE, Condition
from fleetqueue.api.kueue_pods import GROUP_WORKLOAD
from fleetqueue.api.meta import Object, precondition_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import messages, names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.embedded.kueue.scheduling.workload_info import ON_HOLD
from fleetqueue.embedded.kueue.workload_state import admitted_or_not
from fleetqueue.rules.workload_admission import applied_over
from fleetqueue.rules.workload_slices import is_replaced
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import apply_admission

STARTED = "Started"
"""Why all pods are ready that were not before."""
COMES_BACK = ("Preempted", "NodeFailures")
"""Evictions after which a Workload queues again at once, unless it has ended with its pod."""


def finished(workload: Manifest, reason: str, message: str, now: datetime) -> Manifest:
    """Return the status of a Workload whose job has ended."""
    status, generation = workload.get("status") or {}, workload["metadata"].get("generation", 0)
    return admission_status.with_condition(status, kueue.FINISHED, TRUE, reason, message, generation, now)


def released(workload: Manifest, evicted: Condition, now: datetime) -> Manifest:
    """Return the status of an evicted Workload that gives its quota back, since nothing of its job runs any more."""
    generation = workload["metadata"].get("generation", 0)
    comes_back = TRUE if evicted.reason in COMES_BACK and not _is_of_one_pod(workload) else FALSE
    condition_values = {
        kueue.REQUEUED: (comes_back, evicted.reason),
        kueue.QUOTA_RESERVED: (FALSE, kueue.PENDING),
    }
    status = {field: value for field, value in workload["status"].items() if field != "admission"}
    for kind, (value, reason) in condition_values.items():
        status = admission_status.with_condition(status, kind, value, reason, evicted.message, generation, now)
    return admitted_or_not(status, generation, now)


def _is_of_one_pod(workload: Manifest) -> bool:
    metadata = workload["metadata"]
    owners = [(owner["apiVersion"], owner["kind"]) for owner in metadata.get("ownerReferences") or ()]
    return owners == [("v1", "Pod")] and GROUP_WORKLOAD not in (metadata.get("annotations") or {})


def without_quota(workload: Manifest, reason: str, message: str, now: datetime) -> Manifest:
    """Return the status of a Workload that keeps no quota: its job cannot run before somebody changes it, or can again.

    With the reason `OnHold` it is not queued.
    """
    generation = workload["metadata"].get("generation", 0)
    status = {field: value for field, value in workload["status"].items() if field != "admission"}
    status = admission_status.with_condition(status, kueue.QUOTA_RESERVED, FALSE, reason, message, generation, now)
    return admitted_or_not(status, generation, now)


def readiness(workload: kueue.Workload, are_ready: bool) -> Condition | None:
    """Return what a Workload shall say of its pods; None where it says so already."""
    condition = conditions.find(workload.status.conditions, names.PODS_READY)
    wanted = _readiness(workload, condition, are_ready)
    is_told = condition is not None and (condition.status, condition.reason) == (wanted.status, wanted.reason)
    return None if is_told else wanted


def _readiness(workload: kueue.Workload, condition: Condition | None, are_ready: bool) -> Condition:
    waits = Condition.false(names.PODS_READY, names.WAIT_FOR_START, messages.NOT_READY)
    if not workload.is_true(kueue.ADMITTED):
        return waits
    recovers = condition is not None and (condition.is_true or condition.reason == names.WAIT_FOR_RECOVERY)
    if are_ready:
        had_failed = condition is not None and condition.reason in (names.WAIT_FOR_RECOVERY, "Recovered")
        return Condition.true(names.PODS_READY, "Recovered" if had_failed else STARTED, messages.ALL_READY)
    return Condition.false(names.PODS_READY, names.WAIT_FOR_RECOVERY, messages.RECOVERING) if recovers else waits


RESOURCE = kueue.Workload.resource

log = Log("kueue")


class WorkloadWrites:
    def __init__(self, hub: Cluster, events: Recorder) -> None:
        self.hub = hub
        self.events = events

    async def finish(self, job: Object | None, workload: Manifest, reason: str, message: str) -> Manifest:
        """Say that a Workload's job has ended."""
        if is_true(workload, kueue.FINISHED):
            return workload
        status = finished(workload, reason, message, clock.now())
        written = await apply_admission(self.hub.client, applied_over(workload, status))
        log.info("workload finished", workload=_key(workload), reason=reason)
        if job is not None:
            await self._say_finished(job, workload)
        return written

    async def let_finished_go(self, job: Object, workload: Manifest) -> None:
        """Let go of a Workload that somebody else has finished, and say so; of one that we finished it was said."""
        is_held = names.IN_USE in (workload["metadata"].get("finalizers") or ())
        if is_held or is_replaced(workload):
            await self._say_finished(job, workload)
        if is_held:
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
        status = released(workload, evicted, clock.now())
        await apply_admission(self.hub.client, applied_over(workload, status))
        log.info("quota given back", workload=_key(workload), reason=evicted.reason)

    async def put_on_hold(self, workload: Manifest, message: str = messages.ON_HOLD) -> None:
        status = without_quota(workload, ON_HOLD, message, clock.now())
        await apply_admission(self.hub.client, applied_over(workload, status))
        log.info("quota given back", workload=_key(workload), reason=ON_HOLD)

    async def end_hold(self, workload: Manifest) -> None:
        """Let a Workload queue again."""
        status = without_quota(workload, kueue.PENDING, messages.NO_LONGER_ON_HOLD, clock.now())
        await apply_admission(self.hub.client, applied_over(workload, status))

    async def set_reclaimable(self, workload: Manifest, wanted: Sequence[Manifest]) -> bool:
        """Write how many pods will not come again; return whether anything was written."""
        counts = {entry["name"]: entry.get("count", 1) for entry in workload["spec"]["podSets"]}
        limited = [
            {**entry, "count": min(entry["count"], counts.get(entry["name"], entry["count"]))} for entry in wanted
        ]
        if limited == ((workload.get("status") or {}).get("reclaimablePods") or []):
            return False
        await self._apply(workload, {"reclaimablePods": limited}, names.RECLAIMABLE_PODS_MANAGER)
        return True

    async def set_condition(self, workload: Manifest, condition: Condition) -> None:
        metadata = workload["metadata"]
        live = kueue.Workload.view(workload).status.conditions
        dated = conditions.dated([condition], live, now=clock.now())[0]
        raw_condition = {**dated, "observedGeneration": metadata.get("generation", 0)}
        await self._apply(workload, {"conditions": [raw_condition]}, f"{names.JOB_MANAGER}-{condition.type}")

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

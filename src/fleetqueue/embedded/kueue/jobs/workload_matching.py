"""See to it that a job has exactly one Workload, and that this one stands for it."""

from collections.abc import Sequence

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.meta import key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import messages
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import NO_MATCHING_WORKLOAD, JobObjects, StopCause
from fleetqueue.embedded.kueue.jobs.job_priorities import priority_of
from fleetqueue.embedded.kueue.jobs.job_workloads import (
    Priority,
    as_slice,
    is_equivalent,
    owned_by,
    spec_of,
    workload_of,
)
from fleetqueue.embedded.kueue.jobs.job_writes import flavors_of
from fleetqueue.embedded.kueue.jobs.life import JobWriter
from fleetqueue.embedded.kueue.jobs.owned_workloads import OwnedWorkloads
from fleetqueue.embedded.kueue.jobs.slice_plan import SlicePlan, slice_plan
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.rules.workload_slices import latest_active, not_finished, replaced_key
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log

RETRY_SECONDS = 5.0
"""The Workload that is waited for wakes us; this only guards against a watch that broke."""

log = Log("kueue")


class WorkloadMatching:
    def __init__(
        self,
        hub: Cluster,
        integration: JobObjects,
        settings: KueueSettings,
        jobs: JobWriter[Manifest],
        workloads: WorkloadWrites,
        events: Recorder,
    ) -> None:
        self.hub = hub
        self.integration = integration
        self.settings = settings
        self.jobs = jobs
        self.workloads = workloads
        self.events = events
        self.flavor = flavors_of(hub)
        self.owned = OwnedWorkloads(hub, integration.kind)
        self.following = WorkloadFollowing(hub, integration.kind, workloads, events, integration.priority_class)

    async def match(self, job: Manifest, owned: Sequence[Manifest]) -> tuple[Manifest, Manifest | None]:
        """Return the job, perhaps stopped, and its Workload if it has one; others are updated or deleted."""
        if prebuilt := job_fields.prebuilt_workload(job):
            return job, await self._adopted(job, prebuilt)
        if self.integration.is_elastic(job):
            plan = slice_plan(self.integration.pod_sets(job), owned)
            if plan is not None:
                return job, await self._carry_out(job, plan, owned)
        fits = [item for item in owned if is_equivalent(self.integration, job, item, self.flavor)]
        workload, others = (fits[0] if fits else None), [item for item in owned if not fits or item is not fits[0]]
        if workload is None and others and self.integration.is_suspended(job) and not _has_quota(others[0]):
            await self._delete(job, others[1:])
            return job, await self._brought_up_to_date(job, others[0])
        if workload is None and not self.integration.is_suspended(job) and self.integration.ending(job) is None:
            job = await self._stop(job, others)
        if await self._delete(job, others):
            raise errors.RetryLater(RETRY_SECONDS, "Workloads that did not match were deleted")
        if workload is not None:
            workload = await self.following.follow(job, workload)
        return job, workload

    async def create(self, job: Manifest) -> Manifest | None:
        """Make the Workload of a job that has none; None where that has to wait."""
        prebuilt = job_fields.prebuilt_workload(job)
        if prebuilt:
            job = await self.jobs.stop(job, None, StopCause(NO_MATCHING_WORKLOAD, "missing workload"))
        if self.integration.is_active(job) and not self.integration.is_elastic(job):
            return None  # its last pods still go
        if prebuilt:
            raise errors.RetryLater(RETRY_SECONDS, "its prebuilt Workload is not there")
        if not await self._is_there(job):
            return None
        priority = self._priority(job)
        made = workload_of(self.integration, job, priority, self.settings.copied_labels)
        if self.integration.is_elastic(job):
            made = as_slice(made, self._replaced_slice(job))
        created = await self.hub.client.create(kueue.Workload.resource, made)
        key = f"{made['metadata']['namespace']}/{made['metadata']['name']}"
        log.info("workload created", workload=key)
        await self._say(job, "CreatedWorkload", f"Created Workload: {key}")
        return created

    async def follow_queue(self, job: Manifest, workload: Manifest) -> None:
        await self.following.follow_queue(job, workload)

    async def _is_there(self, job: Manifest) -> bool:
        """Ask the server: where the cache missed a deletion, we and garbage collection would take turns without end."""
        metadata, resource = job["metadata"], self.integration.kind.resource
        live = await self.hub.client.find(resource, metadata["name"], metadata["namespace"])
        return live is not None and bool(live["metadata"]["uid"] == metadata["uid"])

    async def _adopted(self, job: Manifest, name: str) -> Manifest | None:
        """Take the Workload that was made for a job beforehand, unless it is another's or no longer fits."""
        key = key_of(job["metadata"]["namespace"], name)
        workload = self.hub.cache(kueue.QueuedWorkload).raw(key)
        if workload is None:
            return None
        owner = job_fields.controller(workload)
        if owner is not None and owner["uid"] != job["metadata"]["uid"]:
            return None
        if owner is None:
            owners = [*(workload["metadata"].get("ownerReferences") or ()), owned_by(self.integration, job)]
            labels = {kueue.JOB_UID_LABEL: job["metadata"]["uid"]}
            workload = await self.workloads.change(workload, metadata={"ownerReferences": owners, "labels": labels})
        is_resized = self.integration.is_elastic(job) and (replaced_key(workload) or _is_copy(workload))
        if is_resized or is_equivalent(self.integration, job, workload, self.flavor):
            return workload
        await self.workloads.finish(None, workload, "OutOfSync", messages.OUT_OF_SYNC)
        return None

    async def _carry_out(self, job: Manifest, plan: SlicePlan, owned: Sequence[Manifest]) -> Manifest | None:
        """Finish the slices that are over, and let the others follow their job; return the one that stands for it."""
        for workload, reason, message in plan.over:
            await self.workloads.finish(None, workload, reason, message)
        current = plan.current
        if current is not None and plan.resized is not None:
            resized = [{**one, "count": plan.resized[one["name"]]} for one in current["spec"]["podSets"]]
            current = await self.workloads.change(current, spec={"podSets": resized})
        over = [each.workload for each in plan.over]
        holder = latest_active(workload for workload in owned if workload not in over)
        if current is not None:
            current = await self.following.follow_priority(job, current)
        if holder is not None and (current is None or current["metadata"]["uid"] != holder["metadata"]["uid"]):
            await self.following.follow_priority(job, holder)
        return current

    def _replaced_slice(self, job: Manifest) -> Manifest | None:
        """Return the slice whose place a new one takes."""
        live = not_finished(self.owned.of(job["metadata"]["namespace"], job["metadata"]["name"]))
        if len(live) > 1:
            raise errors.RetryLater(RETRY_SECONDS, f"unexpected workload-slices count: {len(live)}")
        return live[0] if live else None

    async def _stop(self, job: Manifest, others: Sequence[Manifest]) -> Manifest:
        """Stop a job that runs as no Workload says."""
        only = others[0] if len(others) == 1 else None
        why = "Missing Workload; unable to restore pod templates"
        if only is not None:
            why = "No matching Workload; restoring pod templates according to existent Workload"
        return await self.jobs.stop(job, only, StopCause(NO_MATCHING_WORKLOAD, why))

    async def _delete(self, job: Manifest, workloads: Sequence[Manifest]) -> bool:
        deleted = False
        for workload in workloads:
            if await self.workloads.delete(workload):
                key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
                await self._say(job, "DeletedWorkload", f"Deleted not matching Workload: {key}")
                deleted = True
        return deleted

    async def _brought_up_to_date(self, job: Manifest, workload: Manifest) -> Manifest:
        priority = self._priority(job)
        wanted = spec_of(self.integration, job, priority)
        gone = {field: None for field in workload["spec"] if field not in wanted and field != "active"}
        changed = await self.workloads.change(workload, spec={**gone, **wanted})
        key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
        await self._say(job, "UpdatedWorkload", f"Updated not matching Workload for suspended job: {key}")
        return changed

    def _priority(self, job: Manifest) -> Priority:
        own_class = self.integration.priority_class(job)
        return priority_of(self.hub, job, self.integration.pod_sets(job), own_class=own_class)

    async def _say(self, job: Manifest, reason: str, note: str) -> None:
        await self.events.normal(self.integration.kind.view(job), reason, note)


def _is_copy(workload: Manifest) -> bool:
    """Tell whether a Workload is of another cluster's job: who sent it brings an elastic job and it to one size."""
    return kueue.ORIGIN_LABEL in job_fields.labels(workload)


def _has_quota(workload: Manifest) -> bool:
    return is_true(workload, kueue.QUOTA_RESERVED)

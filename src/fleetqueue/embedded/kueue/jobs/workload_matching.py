"""See to it that a job has exactly one Workload, and that this one stands for it."""

from collections.abc import Sequence

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.meta import key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import messages
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.job_workloads import is_equivalent, owned_by, priority_of, spec_of, workload_of
from fleetqueue.embedded.kueue.jobs.job_writes import JobWrites
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.settings import KueueSettings
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
        integration: Integration,
        settings: KueueSettings,
        jobs: JobWrites,
        workloads: WorkloadWrites,
        events: Recorder,
    ) -> None:
        self.hub = hub
        self.integration = integration
        self.settings = settings
        self.jobs = jobs
        self.workloads = workloads
        self.events = events

    async def match(self, job: Manifest, owned: Sequence[Manifest]) -> tuple[Manifest, Manifest | None]:
        """Return the job, perhaps stopped, and its Workload if it has one; others are updated or deleted."""
        if prebuilt := job_fields.prebuilt_workload(job):
            return job, await self._adopted(job, prebuilt)
        fits = [item for item in owned if is_equivalent(self.integration, job, item, self.jobs.flavor)]
        workload, others = (fits[0] if fits else None), [item for item in owned if not fits or item is not fits[0]]
        if workload is None and others and self.integration.is_suspended(job) and not _has_quota(others[0]):
            await self._delete(job, others[1:])
            return job, await self._brought_up_to_date(job, others[0])
        if workload is None and not self.integration.is_suspended(job) and self.integration.ending(job) is None:
            job = await self._stop(job, others)
        if await self._delete(job, others):
            raise errors.RetryLater(RETRY_SECONDS, "Workloads that did not match were deleted")
        if workload is not None:
            workload = await self._with_gate(job, await self._with_priority(job, workload))
        return job, workload

    async def create(self, job: Manifest) -> None:
        """Make the Workload of a job that has none."""
        prebuilt = job_fields.prebuilt_workload(job)
        if prebuilt:
            job = await self.jobs.stop(job, None, "missing workload")
        if self.integration.is_active(job):
            return  # its last pods still go
        if prebuilt:
            raise errors.RetryLater(RETRY_SECONDS, "its prebuilt Workload is not there")
        if not await self._is_there(job):
            return
        priority = priority_of(self.hub, job, self.integration.pod_sets(job))
        made = workload_of(self.integration, job, priority, self.settings.copied_labels)
        await self.hub.client.create(kueue.Workload.resource, made)
        key = f"{made['metadata']['namespace']}/{made['metadata']['name']}"
        log.info("workload created", workload=key)
        await self._say(job, "CreatedWorkload", f"Created Workload: {key}")

    async def _is_there(self, job: Manifest) -> bool:
        """Ask the server: where the cache missed a deletion, we and garbage collection would take turns without end."""
        metadata, resource = job["metadata"], self.integration.kind.resource
        live = await self.hub.client.find(resource, metadata["name"], metadata["namespace"])
        return live is not None and bool(live["metadata"]["uid"] == metadata["uid"])

    async def _adopted(self, job: Manifest, name: str) -> Manifest | None:
        """Take the Workload that was made for a job beforehand, unless it is another's or no longer fits."""
        key = key_of(job["metadata"]["namespace"], name)
        workload = self.hub.informer(kueue.QueuedWorkload).store.raw(key)
        if workload is None:
            return None
        owner = job_fields.controller(workload)
        if owner is not None and owner["uid"] != job["metadata"]["uid"]:
            return None
        if owner is None:
            owners = [*(workload["metadata"].get("ownerReferences") or ()), owned_by(self.integration, job)]
            labels = {kueue.JOB_UID_LABEL: job["metadata"]["uid"]}
            workload = await self.workloads.change(workload, metadata={"ownerReferences": owners, "labels": labels})
        if is_equivalent(self.integration, job, workload, self.jobs.flavor):
            return workload
        await self.workloads.finish(None, workload, "OutOfSync", messages.OUT_OF_SYNC)
        return None

    async def _stop(self, job: Manifest, others: Sequence[Manifest]) -> Manifest:
        """Stop a job that runs as no Workload says."""
        only = others[0] if len(others) == 1 else None
        why = "Missing Workload; unable to restore pod templates"
        if only is not None:
            why = "No matching Workload; restoring pod templates according to existent Workload"
        return await self.jobs.stop(job, only, why)

    async def _delete(self, job: Manifest, workloads: Sequence[Manifest]) -> bool:
        deleted = False
        for workload in workloads:
            if await self.workloads.delete(workload):
                key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
                await self._say(job, "DeletedWorkload", f"Deleted not matching Workload: {key}")
                deleted = True
        return deleted

    async def _brought_up_to_date(self, job: Manifest, workload: Manifest) -> Manifest:
        priority = priority_of(self.hub, job, self.integration.pod_sets(job))
        wanted = spec_of(self.integration, job, priority)
        gone = {field: None for field in workload["spec"] if field not in wanted and field != "active"}
        changed = await self.workloads.change(workload, spec={**gone, **wanted})
        key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
        await self._say(job, "UpdatedWorkload", f"Updated not matching Workload for suspended job: {key}")
        return changed

    async def _with_priority(self, job: Manifest, workload: Manifest) -> Manifest:
        """Follow the job's own priority class; one that comes from the pods stays."""
        reference = workload["spec"].get("priorityClassRef") or {}
        is_ours = reference.get("kind", "WorkloadPriorityClass") == "WorkloadPriorityClass"
        if not is_ours or (_has_quota(workload) and not reference):
            return workload
        if reference.get("name", "") == job_fields.priority_class(job):
            return workload
        priority = priority_of(self.hub, job, workload["spec"]["podSets"])
        if priority.spec == {field: workload["spec"].get(field) for field in priority.spec} and reference:
            return workload
        changed = await self.workloads.change(workload, spec={"priorityClassRef": None, **priority.spec})
        key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
        await self._say(job, "UpdatedWorkload", f"Updated workload priority class: {key}")
        return changed

    async def _with_gate(self, job: Manifest, workload: Manifest) -> Manifest:
        """Follow the gates that the job names."""
        wanted = job_fields.annotations(job).get(kueue.ADMISSION_GATED_BY) or None
        if job_fields.annotations(workload).get(kueue.ADMISSION_GATED_BY) == wanted:
            return workload
        changed = await self.workloads.change(workload, metadata={"annotations": {kueue.ADMISSION_GATED_BY: wanted}})
        await self._say(job, "UpdatedWorkload", f'Updated workload AdmissionGatedBy to "{wanted or ""}"')
        return changed

    async def _say(self, job: Manifest, reason: str, note: str) -> None:
        await self.events.normal(self.integration.kind.view(job), reason, note)


def _has_quota(workload: Manifest) -> bool:
    return is_true(workload, kueue.QUOTA_RESERVED)

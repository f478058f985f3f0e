"""Let a Workload follow what its job says of it while it is queued: its queue, its priority, and what gates it."""

from collections.abc import Callable

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.job_priorities import priority_of
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder


class WorkloadFollowing:
    def __init__(
        self,
        hub: Cluster,
        kind: type[Object],
        workloads: WorkloadWrites,
        events: Recorder,
        priority_class: Callable[[Manifest], str] = lambda job: "",
    ) -> None:
        """`priority_class` returns the PriorityClass that a job names itself, before its pods do."""
        self.hub = hub
        self.kind = kind
        self.priority_class = priority_class
        self.workloads = workloads
        self.events = events

    async def follow(self, job: Manifest, workload: Manifest) -> Manifest:
        """Bring a Workload to the priority and the gates of its job; return it as it is then."""
        return await self.follow_gate(job, await self.follow_priority(job, workload))

    async def follow_gate(self, job: Manifest, workload: Manifest) -> Manifest:
        """Follow the gates that the job names."""
        wanted = job_fields.annotations(job).get(kueue.ADMISSION_GATED_BY) or None
        if job_fields.annotations(workload).get(kueue.ADMISSION_GATED_BY) == wanted:
            return workload
        changed = await self.workloads.change(workload, metadata={"annotations": {kueue.ADMISSION_GATED_BY: wanted}})
        await self._say(job, f'Updated workload AdmissionGatedBy to "{wanted or ""}"')
        return changed

    async def follow_queue(self, job: Manifest, workload: Manifest) -> None:
        """Queue a Workload where its job is queued."""
        queue = job_fields.queue_name(job)
        if workload["spec"].get("queueName", "") != queue:
            await self.workloads.change(workload, spec={"queueName": queue or None})

    async def follow_priority(self, job: Manifest, workload: Manifest) -> Manifest:
        """Follow the job's own priority class; one that comes from the pods stays."""
        reference = workload["spec"].get("priorityClassRef") or {}
        is_ours = reference.get("kind", "WorkloadPriorityClass") == "WorkloadPriorityClass"
        if not is_ours or (is_true(workload, kueue.QUOTA_RESERVED) and not reference):
            return workload
        if reference.get("name", "") == job_fields.priority_class(job):
            return workload
        pod_sets, own_class = workload["spec"]["podSets"], self.priority_class(job)
        priority = priority_of(self.hub, job, pod_sets, own_class=own_class)
        if priority.spec == {field: workload["spec"].get(field) for field in priority.spec} and reference:
            return workload
        changed = await self.workloads.change(workload, spec={"priorityClassRef": None, **priority.spec})
        key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
        await self._say(job, f"Updated workload priority class: {key}")
        return changed

    async def _say(self, job: Manifest, note: str) -> None:
        await self.events.normal(self.kind.view(job), "UpdatedWorkload", note)

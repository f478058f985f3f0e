"""See to it that a group of pods has one Workload, and that it has the pods which this one asks for, and no others."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_pods import GROUP_WORKLOAD, is_deleting
from fleetqueue.api.meta import key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import messages
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import NO_MATCHING_WORKLOAD, StopCause
from fleetqueue.embedded.kueue.jobs.job_priorities import priority_of
from fleetqueue.embedded.kueue.jobs.life import JobWriter
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_matching import RETRY_SECONDS
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.pods import group_workloads
from fleetqueue.embedded.kueue.pods.group_workloads import CannotCompose
from fleetqueue.embedded.kueue.pods.groups import (
    Members,
    PodGroup,
    PodGroups,
    can_run,
    counted_roles,
    members,
    replacement_condition,
    role_counts,
    sorted_able,
    stands_for,
)
from fleetqueue.embedded.kueue.pods.pod_writes import PodWrites
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log

EXCESS: Final = ("ExcessPodDeleted", "Excess pod deleted")

log = Log("kueue")


class GroupMatching:
    def __init__(
        self,
        hub: Cluster,
        settings: KueueSettings,
        pods: PodWrites,
        jobs: JobWriter[PodGroup],
        workloads: WorkloadWrites,
        events: Recorder,
    ) -> None:
        self.hub = hub
        self.settings = settings
        self.pods = pods
        self.jobs = jobs
        self.workloads = workloads
        self.events = events
        self.following = WorkloadFollowing(hub, Pod, workloads, events)
        self.facts = PodGroups()

    async def match(self, job: PodGroup, owned: Sequence[Manifest]) -> tuple[PodGroup, Manifest | None]:
        if job_fields.prebuilt_workload(job.first):
            return job, await self._adopted(job)
        workload = next(iter(owned), None)
        if workload is None:
            return job, None
        if GROUP_WORKLOAD not in job_fields.annotations(workload):
            await self._refuse(job)
        found = members(job, workload, clock.now())
        if not _fits(job, found, workload):
            return await self._without_match(job, workload)
        job = replace(job, pods=tuple(found.kept))
        workload = await self._owned_by_all(job, workload)
        await self._remove(found.excess)
        await self._let_go(found.replaced)
        await self._tell_of_absent(workload, found.absent)
        return job, await self.following.follow(job.first, workload)

    async def create(self, job: PodGroup) -> None:
        if job_fields.prebuilt_workload(job.first):
            job = await self.jobs.stop(job, None, StopCause(NO_MATCHING_WORKLOAD, "missing workload"))
        if self.facts.is_active(job):
            return  # its last pods still go
        if job_fields.prebuilt_workload(job.first):
            raise errors.RetryLater(RETRY_SECONDS, "its prebuilt Workload is not there")
        made = await self._composed(job)
        if made is None or not await self._is_there(job):
            return
        await self.hub.client.create(kueue.Workload.resource, made)
        key = key_of(made["metadata"]["namespace"], made["metadata"]["name"])
        log.info("workload created", workload=key)
        await self.events.normal(Pod.view(job.first), "CreatedWorkload", f"Created Workload: {key}")

    async def follow_queue(self, job: PodGroup, workload: Manifest) -> None:
        if not job.is_serving:
            await self.following.follow_queue(job.first, workload)

    async def _adopted(self, group: PodGroup) -> Manifest | None:
        """Take the Workload that was made beforehand. Nobody replaces pods of such a group: who is deleted goes."""
        await self._let_go(pod for pod in group.pods if is_deleting(pod) and not can_run(pod))
        key = key_of(group.first["metadata"]["namespace"], group.workload_name)
        workload = self.hub.informer(kueue.QueuedWorkload).store.raw(key)
        if workload is None or job_fields.controller(workload) is not None:
            return None
        workload = await self._owned_by_all(group, workload)
        counts = role_counts(group)
        if group.is_fast and not counts:
            raise errors.RetryLater(RETRY_SECONDS, "no pod of it can run")
        if stands_for(workload, group, counts):
            return workload
        await self.workloads.finish(Pod.view(group.first), workload, "OutOfSync", messages.OUT_OF_SYNC)
        return None

    async def _refuse(self, group: PodGroup) -> None:
        """Say that somebody else's Workload has the name of a group."""
        await self._let_go(pod for pod in group.pods if not can_run(pod))
        note = (
            f'A Workload named "{group.name}" already exists but is not a pod group workload; '
            "this pod group cannot be admitted"
        )
        await self.events.warning(Pod.view(group.first), "WorkloadNameConflict", note, action="Admission")
        raise errors.TerminalError(note)

    async def _without_match(self, group: PodGroup, workload: Manifest) -> tuple[PodGroup, Manifest | None]:
        """Bring a Workload up to date that does not stand for its group; one with quota goes, and the pods with it."""
        if self.facts.is_suspended(group) and not is_true(workload, kueue.QUOTA_RESERVED):
            made = await self._composed(group)
            return group, None if made is None else await self._brought_up_to_date(group, workload, made)
        if not self.facts.is_suspended(group) and self.facts.ending(group) is None:
            why = "No matching Workload; restoring pod templates according to existent Workload"
            group = await self.jobs.stop(group, workload, StopCause(NO_MATCHING_WORKLOAD, why))
        if await self.workloads.delete(workload):
            note = f"Deleted not matching Workload: {_key(workload)}"
            await self.events.normal(Pod.view(group.first), "DeletedWorkload", note)
            raise errors.RetryLater(RETRY_SECONDS, "a Workload that did not match was deleted")
        return group, None

    async def _composed(self, group: PodGroup) -> Manifest | None:
        """Return the Workload that a group is to have; None where pods are missing. Pods that are too many go."""
        await self._let_go(pod for pod in group.pods if not can_run(pod))
        if not group_workloads.is_complete(group):
            note = f"'{group.name}' group has fewer runnable pods than expected"
            await self.events.warning(Pod.view(group.first), "ErrWorkloadCompose", note)
            return None
        able = sorted_able(filter(can_run, group.pods))
        try:
            group_workloads.check(group)
            if excess := able[group.total_count :]:
                await self._remove(excess)
                group = replace(group, pods=tuple(able[: group.total_count]))
            priority = priority_of(self.hub, group.first, group_workloads.pod_sets(group))
            return group_workloads.workload_of(group, priority, self.settings.copied_labels)
        except CannotCompose as error:
            raise errors.TerminalError(str(error)) from None

    async def _brought_up_to_date(self, group: PodGroup, workload: Manifest, made: Manifest) -> Manifest:
        gone = {field: None for field in workload["spec"] if field not in made["spec"] and field != "active"}
        changed = await self.workloads.change(workload, spec={**gone, **made["spec"]})
        note = f"Updated not matching Workload for suspended job: {_key(workload)}"
        await self.events.normal(Pod.view(group.first), "UpdatedWorkload", note)
        return changed

    async def _owned_by_all(self, group: PodGroup, workload: Manifest) -> Manifest:
        """Let every pod of a group own its Workload: it goes with the last of them."""
        owners = workload["metadata"].get("ownerReferences") or []
        known = {owner["uid"] for owner in owners}
        more = [group_workloads.owned_by(pod) for pod in group.pods if pod["metadata"]["uid"] not in known]
        if not more:
            return workload
        changed = await self.workloads.change(workload, metadata={"ownerReferences": [*owners, *more]})
        note = f"Added {len(more)} owner reference(s)"
        await self.events.normal(kueue.QueuedWorkload.view(changed), "OwnerReferencesAdded", note)
        return changed

    async def _tell_of_absent(self, workload: Manifest, absent: int) -> None:
        condition = replacement_condition(kueue.QueuedWorkload.view(workload), absent)
        if condition is not None:
            await self.workloads.set_condition(workload, condition)
            raise errors.RetryLater(RETRY_SECONDS, "its Workload was told of pods that are missing, or no more")

    async def _remove(self, pods: Iterable[Manifest]) -> None:
        for pod in pods:
            await self.pods.let_go(pod)
            if not is_deleting(pod):
                await self.pods.delete(pod)
                await self.pods.say(pod, *EXCESS)

    async def _let_go(self, pods: Iterable[Manifest]) -> None:
        for pod in pods:
            await self.pods.let_go(pod)

    async def _is_there(self, group: PodGroup) -> bool:
        """Ask the server, as for other jobs: a cache may have missed that a pod has gone."""
        metadata = group.first["metadata"]
        live = await self.hub.client.find(Pod.resource, metadata["name"], metadata["namespace"])
        return live is not None and bool(live["metadata"]["uid"] == metadata["uid"])


def _fits(group: PodGroup, found: Members, workload: Manifest) -> bool:
    if workload["spec"].get("maximumExecutionTimeSeconds") != job_fields.maximum_execution_time(group.first):
        return False
    return bool(found.kept) and stands_for(workload, group, counted_roles(found.kept))


def _key(workload: Manifest) -> str:
    return key_of(workload["metadata"]["namespace"], workload["metadata"]["name"])

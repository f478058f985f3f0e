"""Ask the clusters whether they have a copy of a Workload, and know when to wait for one that does not answer."""

from math import inf

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.fences import Fences
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.lost_workers import LostWorkerPolicies
from fleetqueue.controllers.placement_admission.past_clusters import PastClusters
from fleetqueue.controllers.placement_admission.refused_credentials import RefusedCredentials
from fleetqueue.controllers.placement_admission.silent_members import SilentMembers
from fleetqueue.controllers.placement_admission.workers import Workers, WorkloadCopy
from fleetqueue.runtime.cluster import is_ours


class WaitsForCluster(errors.RetryLater):
    """A cluster may run the job: it does not answer, or has the copy still."""

    def __init__(self, after: float, why: str, *, lasting: str) -> None:
        """`lasting` says it without what changes from one question to the next; empty where it need not last."""
        super().__init__(after, why)
        self.lasting = lasting


class Copies:
    def __init__(
        self,
        objects: HubObjects,
        workers: Workers,
        silent_members: SilentMembers,
        refused: RefusedCredentials,
        past_clusters: PastClusters,
    ) -> None:
        self.objects = objects
        self.workers = workers
        self.silent_members = silent_members
        self.refused = refused
        self.past_clusters = past_clusters
        self.policies = LostWorkerPolicies(objects)
        self.fences = Fences(objects, past_clusters)
        self.settings = objects.settings

    async def ask(self, workload: kueue.Workload, member: str, config: kueue.MultiKueueConfig) -> WorkloadCopy | None:
        """Ask a cluster for its copy; raises WaitsForCluster while it cannot answer and may run the job."""
        secret = self.objects.kubeconfig_of(member)
        try:
            copy = await self.workers.copy(secret, workload)
        except (errors.Unreachable, errors.ApiError) as error:
            self.silent_members.note(member)
            await self.refused.note(secret, error)
            if self.is_gone(member, config):
                return None
            if self.policies.is_rerun(workload):
                left = 0.0 if self.silent_members.is_lost(member) else inf
            else:
                left = await self._seconds_until_stopped(workload, member, config)
            if left > 0:
                raise await self._waiting(workload, member, config, left, error) from error
            if self.policies.is_fence(workload):
                await self.objects.hub.events.normal(workload, "Fenced", messages.stopped_there(member))
            return None
        self.silent_members.end(member)
        return copy

    async def is_given_up(self, workload: kueue.Workload, member: str, config: kueue.MultiKueueConfig) -> bool:
        """Tell whether a member did not answer, and nobody waits any more for what it may have of a Workload."""
        if self.is_gone(member, config):
            return True
        if not self.silent_members.is_silent(member):
            return False
        if self.policies.is_rerun(workload):
            return self.objects.has_left(member, config.name) and self.silent_members.is_lost(member)
        return await self._seconds_until_stopped(workload, member, config) <= 0

    def past(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str]:
        """Return the members that an evicted Workload has been on, or may have been on where that is not known.

        What must not run twice waits also for what another Workload of its job has left, which somebody deleted.
        """
        is_careful = not self.policies.is_rerun(workload)
        return self.past_clusters.of(workload, lambda: self.objects.once_listed(config), with_deleted=is_careful)

    def is_gone(self, member: str, config: kueue.MultiKueueConfig) -> bool:
        """Tell whether nothing would ever connect a member again, or an administrator has given it up."""
        is_removed = self.objects.member(member) is None and member not in config.spec.clusters
        return is_removed or self.objects.is_forced(member)

    def is_given_up_by_all(self, member: str, config: str) -> bool:
        """Tell of a member that does not answer whether it may be taken off a config, whatever runs there."""
        if self.objects.is_forced(member):
            return True
        is_lost = self.objects.has_left(member, config) and self.silent_members.is_lost(member)
        return is_lost and not self.waiting_for(member, config)

    def waiting_for(self, member: str, config: str) -> list[str]:
        """Name the Workloads that are, or may be, on a member, and that are not to be started elsewhere for that."""
        workloads = {
            workload.key: workload
            for check in self.objects.multikueue_checks_on(config)
            for workload in self.objects.workloads_of(check)
            if workload.is_live and not self.policies.is_rerun(workload)
        }
        return sorted(key for key, workload in workloads.items() if self._may_be_on(workload, member))

    def _may_be_on(self, workload: kueue.Workload, member: str) -> bool:
        if workload.clusters:
            return member in workload.clusters
        return member in self.past_clusters.of(workload, lambda: [member], with_deleted=True)

    async def _seconds_until_stopped(
        self, workload: kueue.Workload, member: str, config: kueue.MultiKueueConfig
    ) -> float:
        """Return for how long a Workload that must not run twice waits for a silent member; infinite for its answer."""
        if not self.policies.is_fence(workload):
            return inf
        left = await self.fences.seconds_left(workload, member, config.name)
        return inf if left is None else left

    async def _waiting(
        self, workload: kueue.Workload, member: str, config: kueue.MultiKueueConfig, left: float, error: Exception
    ) -> WaitsForCluster:
        """Say for whom a Workload waits, since when and until when."""
        lasting = ""
        if not self.policies.is_rerun(workload):
            since = self.silent_members.since(member)
            if left < inf:
                lasting = messages.waits_for_fence(member, since, self.fences.until(workload, member, config.name))
            else:
                policy, owned = self.policies.text(workload), is_ours(self.objects.member(member) or config)
                lasting = messages.waits_for_silent(member, since, policy, is_ours=owned)
        note = messages.cannot_be_asked(member, str(error), lasting)
        await self.objects.hub.events.warning(workload, "WaitingForCluster", note)
        return WaitsForCluster(min(left, self.settings.drain_poll), note, lasting=lasting)

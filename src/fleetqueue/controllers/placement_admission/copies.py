"""Ask the clusters whether they have a copy of a Workload."""

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.refused_credentials import RefusedCredentials
from fleetqueue.controllers.placement_admission.silent_members import SilentMembers
from fleetqueue.controllers.placement_admission.workers import Workers, WorkloadCopy


class Copies:
    def __init__(
        self, objects: HubObjects, workers: Workers, silent_members: SilentMembers, refused: RefusedCredentials
    ) -> None:
        self.objects = objects
        self.workers = workers
        self.silent_members = silent_members
        self.refused = refused
        self.settings = objects.settings

    async def ask(self, workload: kueue.Workload, member: str, config: kueue.MultiKueueConfig) -> WorkloadCopy | None:
        """Ask a cluster for its copy; raises RetryLater while it cannot answer and is not given up."""
        secret = self.objects.kubeconfig_of(member)
        try:
            copy = await self.workers.copy(secret, workload)
        except (errors.Unreachable, errors.ApiError) as error:
            self.silent_members.note(member)
            await self.refused.note(secret, error)
            if self.is_given_up(member, config) or self.silent_members.is_lost(member):
                return None
            note = f"{member} cannot be asked ({error}); the job may run there"
            await self.objects.hub.events.warning(workload, "WaitingForCluster", note)
            raise errors.RetryLater(self.settings.drain_poll, note) from error
        self.silent_members.end(member)
        return copy

    def is_given_up(self, member: str, config: kueue.MultiKueueConfig) -> bool:
        """Tell of a member that does not answer whether nothing would ever connect it again, or nobody waits for it."""
        is_removed = self.objects.member(member) is None and member not in config.spec.clusters
        return is_removed or self.silent_members.is_given_up(member, config.name)

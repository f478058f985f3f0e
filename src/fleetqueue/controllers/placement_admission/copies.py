"""Ask the clusters whether they have a copy of a Workload."""

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.silences import Silences
from fleetqueue.controllers.placement_admission.workers import Copy, Workers


class Copies:
    def __init__(self, objects: HubObjects, workers: Workers, silences: Silences) -> None:
        self.objects = objects
        self.workers = workers
        self.silences = silences
        self.settings = objects.settings

    async def ask(self, workload: kueue.Workload, member: str, config: kueue.MultiKueueConfig) -> Copy | None:
        """Ask a cluster for its copy; raises RetryLater while it cannot answer and is not given up."""
        try:
            copy = await self.workers.copy(self.objects.kubeconfig_of(member), workload)
        except (errors.Unreachable, errors.ApiError) as error:
            self.silences.note(member)
            if self.is_given_up(member, config) or self.silences.is_lost(member):
                return None
            note = f"{member} cannot be asked ({error}); the job may run there"
            await self.objects.hub.events.warning(workload, "WaitingForCluster", note)
            raise errors.RetryLater(self.settings.drain_poll, note) from error
        self.silences.end(member)
        return copy

    def is_given_up(self, member: str, config: kueue.MultiKueueConfig) -> bool:
        """Tell of a member that does not answer whether nothing would ever connect it again, or nobody waits for it."""
        is_removed = self.objects.member(member) is None and member not in config.spec.clusters
        return is_removed or self.silences.is_given_up(member, config.name)

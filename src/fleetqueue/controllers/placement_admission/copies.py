"""Ask the clusters whether they have a copy of a Workload, and know for how long a silent one is waited for."""

from math import inf

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.workers import Copy, Workers


class Copies:
    def __init__(self, objects: HubObjects, workers: Workers) -> None:
        self.objects = objects
        self.workers = workers
        self.settings = objects.settings
        self._silences: dict[str, tuple[float, float]] = {}
        """When each member that does not answer us was first, and last, asked in vain."""

    async def ask(self, workload: kueue.Workload, member: str, config: kueue.MultiKueueConfig) -> Copy | None:
        """Ask a cluster for its copy; raises RetryLater while it cannot answer and is not given up."""
        try:
            copy = await self.workers.copy(self.objects.kubeconfig_of(member), workload)
        except (errors.Unreachable, errors.ApiError) as error:
            self._note_silence(member)
            if self._lost_for(member, config) >= self.settings.lost_timeout:
                return None
            note = f"{member} cannot be asked ({error}); the job may run there"
            await self.objects.hub.events.warning(workload, "WaitingForCluster", note)
            raise errors.RetryLater(self.settings.drain_poll, note) from error
        self._silences.pop(member, None)
        return copy

    def _note_silence(self, member: str) -> None:
        """Whoever waits for a member asks at every poll: after a longer pause it may have answered others meanwhile."""
        now = clock.monotonic()
        first, last = self._silences.get(member, (now, now))
        self._silences[member] = (first if now - last < 4 * self.settings.drain_poll else now, now)

    def _lost_for(self, member: str, config: kueue.MultiKueueConfig) -> float:
        """Return for how many seconds a member has not answered us, or been disconnected from Kueue."""
        if self.objects.is_given_up(member, config):
            return inf
        first, last = self._silences[member]
        silent = last - first
        found = self.objects.member(member)
        condition = find(found.status.conditions, kueue.ACTIVE) if found is not None else None
        if condition is None or condition.is_true or condition.last_transition_time is None:
            return silent
        return max(silent, (clock.now() - condition.last_transition_time).total_seconds())

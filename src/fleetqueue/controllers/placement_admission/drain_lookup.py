"""Look up what still stands on a dropped cluster, and what was left on one that comes back."""

from math import inf

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.copies import Copies
from fleetqueue.controllers.placement_admission.draining import Holdings
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.identities import Identities
from fleetqueue.controllers.placement_admission.sent_nominations import SentNominations
from fleetqueue.controllers.placement_admission.workers import Workers


class DrainLookup:
    def __init__(
        self,
        objects: HubObjects,
        workers: Workers,
        copies: Copies,
        identities: Identities,
        sent_nominations: SentNominations,
    ) -> None:
        self.objects = objects
        self.settings = objects.settings
        self.workers = workers
        self.copies = copies
        self.silent_members = copies.silent_members
        self.identities = identities
        self.sent_nominations = sent_nominations
        self._answers: dict[str, tuple[float, set[str]]] = {}
        """When each draining member was last asked, and what it held."""

    async def held(self, key: str, member: str) -> Holdings:
        """Ask who still stands on a member: the hub's Workloads, nominations under way, and the worker itself."""
        on_hub = {workload.key for workload in self.objects.workloads_on(member, key)}
        if self.sent_nominations.is_under_way(member):
            on_hub.add("a nomination under way")
        if self._has_twin(key, member):
            return Holdings(frozenset(on_hub), is_running=bool(on_hub))
        secret = self.objects.kubeconfig_of(member)
        try:
            copies = await self._asked(member, secret, is_in_use=bool(on_hub))
        except (errors.Unreachable, errors.ApiError) as error:
            self.silent_members.note(member)
            await self.copies.refused.note(secret, error)
            is_nobody = self.objects.member(member) is None and not self.objects.is_known(member, key)
            if self.copies.is_given_up_by_all(member, key) or (is_nobody and not on_hub):
                return Holdings()  # nothing else would ever end this drain
            why = str(error)
            if waiting := self.copies.waiting_for(member, key):
                why = messages.held_for(why, waiting)
            elif self.objects.has_left(member, key):
                why = messages.left_and_silent(why, self.settings.lost_timeout)
            return Holdings(frozenset(on_hub), unreachable=why, is_running=True)
        self.silent_members.end(member)
        others = {copy for copy in copies if self._belongs_elsewhere(copy, key)}
        return Holdings(frozenset(on_hub | copies - others), is_running=bool(on_hub), others=frozenset(others))

    async def leftovers(self, key: str, member: str, secret: Secret | None) -> list[str]:
        """Return the Workloads that have gone elsewhere since, of which a cluster that is to be listed has copies.

        It was given up while it did not answer. Kueue takes the oldest admitted copy for the right one, and would
        delete the one that runs now. One that cannot be asked has none, as far as Kueue knows too.
        """
        try:
            copies = await self.workers.held(secret, self.objects.origins)
        except (errors.Unreachable, errors.ApiError):
            return []
        return sorted(copy for copy in copies if self._is_on_another(copy, key, member))

    def forget(self, member: str) -> None:
        self._answers.pop(member, None)

    async def _asked(self, member: str, secret: Secret | None, *, is_in_use: bool) -> set[str]:
        """Ask a worker what it holds of ours; while the hub itself has Workloads there, once in every poll.

        What it held a while ago is then only counted. Before it is unlisted, it is asked when the hub has none there.
        """
        asked, copies = self._answers.get(member, (-inf, set()))
        if is_in_use and clock.monotonic() - asked < self.settings.drain_poll:
            return copies
        began = clock.monotonic()
        self._answers.pop(member, None)
        copies = await self.workers.held(secret, self.objects.origins)
        self._answers[member] = (began, copies)
        return copies

    def _has_twin(self, key: str, member: str) -> bool:
        """Tell whether a member that serves is the same cluster: then what runs there tells nothing of this one."""
        config, uid = self.objects.config(key), self.identities.of_member(member, key)
        serving = set(config.spec.clusters) - set(marks_of(config)) if config is not None else set()
        return bool(uid) and any(self.identities.of_member(other, key) == uid for other in serving - {member})

    def _belongs_elsewhere(self, copy: str, key: str) -> bool:
        """Tell whether a copy on a worker was sent there through another config."""
        workload = self._workload(copy)
        config = self.objects.config_of(workload) if workload is not None else ""
        return config not in ("", key)

    def _is_on_another(self, copy: str, key: str, member: str) -> bool:
        """Tell whether the Workload of a copy runs on, or is nominated for, other members of a config only."""
        workload = self._workload(copy)
        if workload is None or not (workload.is_live and workload.clusters) or member in workload.clusters:
            return False
        return self.objects.config_of(workload) == key

    def _workload(self, copy: str) -> kueue.Workload | None:
        namespace, _, name = copy.partition("/")
        return self.objects.hub.get(kueue.Workload, name, namespace)

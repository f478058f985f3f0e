"""How long clusters have not answered, and which of them nobody waits for any more.

A cluster that does not answer may run jobs: to unlist it would start them elsewhere. Only two things end the waiting:
- An administrator says so: `fleetqueue unjoin --force` marks its MultiKueueClusters.
- Its ManagedCluster is gone, and it has been silent for as long as Kueue itself waits for a lost worker; unless a job
  may be there that must not run twice (`copies.py`).
A credential that was lost or is refused counts as silence: it tells nothing about what runs there.
"""

from datetime import datetime

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects


class SilentMembers:
    def __init__(self, objects: HubObjects) -> None:
        self.objects = objects
        self.settings = objects.settings
        self._silences: dict[str, tuple[float, float]] = {}
        """When each member that does not answer us was first, and last, asked in vain."""
        self._since: dict[str, datetime] = {}
        """The same first moment by the wall clock, for people."""
        self._answers: dict[str, datetime] = {}
        """When each member answered us last."""

    def note(self, member: str) -> None:
        """Whoever waits for a member asks at every poll: after a longer pause it may have answered others meanwhile."""
        now = clock.monotonic()
        first, last = self._silences.get(member, (now, now))
        if now - last >= 4 * self.settings.drain_poll:
            first = now
        if first == now:
            self._since[member] = clock.now()
        self._silences[member] = (first, now)

    def end(self, member: str) -> None:
        """Note that a member has answered."""
        self._silences.pop(member, None)
        self._answers[member] = clock.now()

    def is_silent(self, member: str) -> bool:
        """Tell whether a member did not answer when it was asked last."""
        return member in self._silences

    def is_lost(self, member: str) -> bool:
        """Tell whether a member has been silent, or disconnected from Kueue, for as long as Kueue waits.

        One that Kueue has lost may still answer us: then it counts from its last answer.
        """
        return self._seconds(member) >= self.settings.lost_timeout

    def since(self, member: str) -> datetime:
        """Return since when a member has answered neither us nor Kueue."""
        asked = self._since.get(member, clock.now())
        return min(asked, self._lost_since(member) or asked)

    def _seconds(self, member: str) -> float:
        first, last = self._silences.get(member, (0.0, 0.0))
        silent = last - first
        since = self._lost_since(member)
        return silent if since is None else max(silent, (clock.now() - since).total_seconds())

    def _lost_since(self, member: str) -> datetime | None:
        """Return since when Kueue is not connected to a member that has not answered us since; None where it is."""
        multikueue_cluster = self.objects.member(member)
        condition = find(multikueue_cluster.status.conditions, kueue.ACTIVE) if multikueue_cluster is not None else None
        if condition is None or condition.is_true or condition.last_transition_time is None:
            return None
        return max(condition.last_transition_time, self._answers.get(member, condition.last_transition_time))

"""Nominations that were sent but are not yet seen in the cache.

Between our write and the watch event that shows it, a cluster looks emptier than it is. Whoever chooses a cluster,
and whoever wants to unlist one, must count what is under way. What was seen is read from the Workloads themselves, so
that a restarted process knows as much as the old one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.quantity import Amounts

LATEST: Final = 60.0
"""Seconds after which a nomination counts as seen in any case; a watch that lags longer has been listed anew."""


@dataclass(frozen=True, slots=True)
class Nomination:
    uid: str
    since: float
    members: tuple[str, ...]
    new: tuple[str, ...]
    """Those of them that the Workload did not show before."""
    requests: Amounts


class SentNominations:
    def __init__(self) -> None:
        self._under_way: dict[str, Nomination] = {}

    def add(self, workload: kueue.Workload, members: Sequence[str]) -> None:
        """Note a nomination before it is written."""
        new = tuple(member for member in members if member not in workload.status.nominated_cluster_names)
        entry = Nomination(workload.uid, clock.monotonic(), tuple(members), new, workload.requests)
        self._under_way[workload.key] = entry

    def discard(self, key: str) -> None:
        """Forget a nomination that was not written."""
        self._under_way.pop(key, None)

    def seen(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        """Compare with what the cache shows now: a nomination that arrived, or lost its Workload, is no longer under
        way."""
        workload = new or old
        entry = self._under_way.get(workload.key) if workload else None
        if workload is None or entry is None:
            return
        if new is None or new.uid != entry.uid or not (new.is_live and new.has_quota) or _arrived(entry, new):
            del self._under_way[workload.key]

    def is_under_way(self, member: str) -> bool:
        return any(member in entry.members for entry in self._recent())

    def requests_on(self, member: str) -> Iterable[Amounts]:
        """Return what is under way to a member; what its Workload shows already is not."""
        return [entry.requests for entry in self._recent() if member in entry.new]

    def seconds_left(self, key: str) -> float:
        """Return for how long a Workload's nomination may still be under way; 0 where none is."""
        entry = self._under_way.get(key)
        return max(0.0, entry.since + LATEST - clock.monotonic()) if entry is not None else 0.0

    def _recent(self) -> list[Nomination]:
        now = clock.monotonic()
        return [entry for entry in self._under_way.values() if now - entry.since < LATEST]


def _arrived(entry: Nomination, workload: kueue.Workload) -> bool:
    status = workload.status
    return bool(status.cluster_name) or set(entry.members) <= set(status.nominated_cluster_names)

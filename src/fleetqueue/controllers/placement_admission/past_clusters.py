"""Where each Workload has been: the clusters that may still have its copy after it was evicted.

Kueue forgets them with the eviction, and removes the copies as far as it can reach them. A Workload that was already
evicted when this process first saw it has an unknown past: it may have been anywhere.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find


@dataclass(slots=True)
class Past:
    uid: str
    is_known: bool
    members: set[str] = field(default_factory=set)


class PastClusters:
    def __init__(self) -> None:
        self._pasts: dict[str, Past] = {}

    def seen(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        """Note what the cache shows."""
        if new is not None and not new.is_finished:
            self.sent(new, new.clusters)
        elif old is not None:
            self._pasts.pop(old.key, None)

    def sent(self, workload: kueue.Workload, members: Iterable[str]) -> None:
        """Note where a Workload is, or is about to be."""
        past = self._pasts.get(workload.key)
        if past is None or past.uid != workload.uid:
            past = self._pasts[workload.key] = Past(workload.uid, is_known=not was_evicted(workload))
        past.members.update(members)

    def of(self, workload: kueue.Workload, anywhere: Callable[[], Iterable[str]]) -> list[str]:
        """Return which members a Workload has been on; any where that is not known.

        Of most Workloads nobody asks for `anywhere`: they were never evicted.
        """
        past = self._pasts.get(workload.key)
        if not was_evicted(workload):
            return []
        if past is None or past.uid != workload.uid:
            return sorted(anywhere())
        return sorted(past.members if past.is_known else {*past.members, *anywhere()})


def was_evicted(workload: kueue.Workload) -> bool:
    """Tell whether a Workload was ever evicted; the condition stays, and becomes False with the next quota."""
    return find(workload.status.conditions, kueue.EVICTED) is not None

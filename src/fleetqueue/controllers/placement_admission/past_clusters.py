"""Where each Workload has been: the clusters that may still have its copy after it was evicted.

Kueue forgets them with the eviction, and removes the copies as far as it can reach them. A Workload that was already
evicted when this process first saw it has an unknown past: it may have been anywhere, unless that was written down.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.api.fence import sent_to


@dataclass(slots=True)
class Past:
    uid: str
    is_known: bool
    members: set[str] = field(default_factory=set)
    settled: float | None = None
    """Since when Kueue brings no further copy of it anywhere, as far as was seen; None while it may."""


class PastClusters:
    def __init__(self) -> None:
        self._pasts: dict[str, Past] = {}

    def seen(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        """Note what the cache shows."""
        if new is not None and not new.is_finished:
            past = self._sent(new, new.clusters)
            if new.has_quota and new.status.nominated_cluster_names and not new.status.cluster_name:
                past.settled = None
            elif past.settled is None:
                past.settled = clock.monotonic()
        elif old is not None:
            self._pasts.pop(old.key, None)

    def sent(self, workload: kueue.Workload, members: Iterable[str]) -> None:
        """Note where a Workload is about to be."""
        self._sent(workload, members).settled = None

    def settled(self, workload: kueue.Workload) -> float | None:
        """Return since when Kueue brings no further copy of a Workload: it is on one cluster, or nominated for none."""
        past = self._pasts.get(workload.key)
        return past.settled if past is not None and past.uid == workload.uid else None

    def _sent(self, workload: kueue.Workload, members: Iterable[str]) -> Past:
        past = self._pasts.get(workload.key)
        if past is None or past.uid != workload.uid:
            past = self._pasts[workload.key] = Past(workload.uid, is_known=not was_evicted(workload))
        past.members.update(members)
        return past

    def of(self, workload: kueue.Workload, anywhere: Callable[[], Iterable[str]]) -> list[str]:
        """Return which members a Workload has been on; any where that is not known.

        Of most Workloads nobody asks for `anywhere`: they were never evicted.
        """
        past = self._pasts.get(workload.key)
        if not was_evicted(workload):
            return []
        if past is None or past.uid != workload.uid:
            past = Past(workload.uid, is_known=False)
        if (noted := sent_to(workload)) is not None:
            return sorted({*noted, *past.members})
        return sorted(past.members if past.is_known else {*past.members, *anywhere()})


def was_evicted(workload: kueue.Workload) -> bool:
    """Tell whether a Workload was ever evicted; the condition stays, and becomes False with the next quota."""
    return find(workload.status.conditions, kueue.EVICTED) is not None

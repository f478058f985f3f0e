"""Where each Workload has been: the clusters that may still have its copy after it was evicted.

Kueue forgets them with the eviction, and removes the copies as far as it can reach them. A Workload that was already
evicted when this process first saw it has an unknown past: it may have been anywhere, unless that was written down.

A Workload that is deleted while its job is there is made anew under its name, and knows of nothing; what the one before
it left behind may still run. Where nobody saw it, `earlier_workloads.py` finds out whether there may have been one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.api.fence import sent_to

DELETED_SECONDS: Final = 86400.0
"""For so long it is remembered where a Workload was that is deleted. Kueue makes another one within seconds, but for a
StatefulSet only when something happens to it, or after ten hours."""


@dataclass(slots=True)
class Past:
    uid: str
    is_known: bool
    before: frozenset[str] = frozenset()
    """The members that a deleted Workload of the same name has been on."""
    follows_unseen: bool | None = None
    """Whether one of the same name may have been deleted while nobody watched; None until somebody has looked."""
    members: set[str] = field(default_factory=set)
    settled: float | None = None
    """Since when Kueue brings no further copy of it anywhere, as far as was seen; None while it may."""


class PastClusters:
    def __init__(self) -> None:
        self.since = clock.now()
        """From when on all that becomes of Workloads is seen."""
        self._pasts: dict[str, Past] = {}
        self._deleted: dict[str, tuple[float, frozenset[str]]] = {}
        """When Workloads were deleted that had not finished, and where they had been; the oldest first."""

    def seen(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        """Note what the cache shows."""
        if new is not None and not new.is_finished:
            past = self._sent(new, new.clusters)
            if new.has_quota and new.status.nominated_cluster_names and not new.status.cluster_name:
                past.settled = None
            elif past.settled is None:
                past.settled = clock.monotonic()
        elif old is not None:
            ended = self._pasts.pop(old.key, None)
            if new is None and ended is not None:
                self._note_deleted(old.key, ended)

    def sent(self, workload: kueue.Workload, members: Iterable[str]) -> None:
        """Note where a Workload is about to be."""
        self._sent(workload, members).settled = None

    def settled(self, workload: kueue.Workload) -> float | None:
        """Return since when Kueue brings no further copy of a Workload: it is on one cluster, or nominated for none."""
        past = self._pasts.get(workload.key)
        return past.settled if past is not None and past.uid == workload.uid else None

    def is_open(self, workload: kueue.Workload) -> bool:
        """Tell whether somebody must look if a Workload follows one that was deleted unseen.

        Of one that was sent before, who sent it has looked.
        """
        past = self._pasts.get(workload.key)
        was_sent = bool(workload.clusters) or was_evicted(workload) or sent_to(workload) is not None
        return past is not None and past.uid == workload.uid and past.follows_unseen is None and not was_sent

    def note_earlier(self, workload: kueue.Workload, *, follows_unseen: bool) -> None:
        """Note what was found."""
        self._sent(workload, ()).follows_unseen = follows_unseen

    def _sent(self, workload: kueue.Workload, members: Iterable[str]) -> Past:
        past = self._pasts.get(workload.key)
        if past is None or past.uid != workload.uid:
            if past is not None:
                self._note_deleted(workload.key, past)
            _, before = self._deleted.pop(workload.key, (0.0, frozenset[str]()))
            past = self._pasts[workload.key] = Past(workload.uid, not was_evicted(workload), before)
        past.members.update(members, sent_to(workload) or ())
        return past

    def _note_deleted(self, key: str, past: Past) -> None:
        """Remember where a Workload was that had not finished."""
        now = clock.monotonic()
        while self._deleted and next(iter(self._deleted.values()))[0] <= now - DELETED_SECONDS:
            del self._deleted[next(iter(self._deleted))]
        if members := past.before | past.members:
            self._deleted[key] = (now, members)

    def of(
        self, workload: kueue.Workload, anywhere: Callable[[], Iterable[str]], *, with_deleted: bool = False
    ) -> list[str]:
        """Return which members a Workload has been on; any where that is not known.

        Of most Workloads nobody asks for `anywhere`: they were never evicted.

        Args:
            with_deleted: also where one of its name has been that was deleted.
        """
        past = self._pasts.get(workload.key)
        if past is None or past.uid != workload.uid:
            past = Past(workload.uid, is_known=False)
        before = past.before if with_deleted else frozenset()
        if with_deleted and past.follows_unseen and sent_to(workload) is None:
            before = before.union(anywhere())
        if not was_evicted(workload):
            return sorted(before)
        if (noted := sent_to(workload)) is not None:
            return sorted({*noted, *past.members, *before})
        return sorted({*past.members, *before} if past.is_known else {*past.members, *before, *anywhere()})


def was_evicted(workload: kueue.Workload) -> bool:
    """Tell whether a Workload was ever evicted; the condition stays, and becomes False with the next quota."""
    return find(workload.status.conditions, kueue.EVICTED) is not None

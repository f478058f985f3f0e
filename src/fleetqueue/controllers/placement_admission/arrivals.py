"""What each cluster was given and does not show yet, added up.

A job that is nominated for a cluster, or was placed there a moment ago, is not yet in the usage and the scores of that
cluster: whoever chooses one counts it as well. The sums follow the Workloads as they change, so that a choice costs
the same however many jobs run.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from heapq import heappop, heappush

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.quantity import Amounts, add
from fleetqueue.runtime.informer import is_news


@dataclass(slots=True, eq=False)
class Arrival:
    """One Workload on one member, by one of its checks: which of them is MultiKueue's may not be known yet."""

    place: tuple[str, str]
    """Member and check."""
    requests: Amounts
    is_counted: bool = True


class Arrivals:
    def __init__(self, settle: float) -> None:
        """`settle`: seconds until a job that was placed shows by itself."""
        self._settle = timedelta(seconds=settle)
        self._arrivals: dict[str, list[Arrival]] = {}
        """By the keys of Workloads."""
        self._sums: dict[tuple[str, str], Amounts] = {}
        self._given: dict[str, tuple[tuple[str, ...], Amounts]] = {}
        """Where each live Workload is, or may be, and what it asks for; by its key."""
        self._totals: dict[str, Amounts] = {}
        """The sums of that, by member."""
        self._ageing: list[tuple[datetime, int, Arrival]] = []
        """A heap of those that are placed, by when they show; the number keeps equal moments apart."""
        self._number = 0

    def seen(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        """Note what the cache shows; one that is told of again counts once."""
        if not is_news(_standing, old, new):
            return
        self._age()
        for workload in filter(None, (old, new)):
            for arrival in self._arrivals.pop(workload.key, ()):
                self._uncount(arrival)
            members, given = self._given.pop(workload.key, ((), {}))
            for member in members:
                self._totals[member] = _less(self._totals[member], given)
        if new is not None and new.is_live and new.clusters:
            requests = new.requests
            self._given[new.key] = (new.clusters, requests)
            for member in new.clusters:
                self._totals[member] = add([self._totals.get(member, {}), requests])
            self._arrivals[new.key] = [
                self._arrive(Arrival((member, check.name), requests), new, check)
                for member in new.clusters
                for check in new.status.admission_checks
            ]

    def on(self, member: str, checks: Iterable[str]) -> Amounts:
        """Add up what a member was given by some checks and does not show yet."""
        self._age()
        return add(self._sums.get((member, check), {}) for check in checks)

    def _age(self) -> None:
        """Let go of those that show by themselves now; nobody may ever ask for the sums."""
        now = clock.now()
        while self._ageing and self._ageing[0][0] <= now:
            self._uncount(heappop(self._ageing)[-1])

    def total(self, member: str) -> Amounts:
        """Add up all that a member has of ours, or may get."""
        return self._totals.get(member, {})

    def _arrive(self, arrival: Arrival, workload: kueue.Workload, check: kueue.CheckState) -> Arrival:
        if workload.status.cluster_name:
            since = check.last_transition_time
            arrival.is_counted = since is not None and since + self._settle > clock.now()
            if since is not None and arrival.is_counted:
                self._number += 1
                heappush(self._ageing, (since + self._settle, self._number, arrival))
        if arrival.is_counted:
            self._sums[arrival.place] = add([self._sums.get(arrival.place, {}), arrival.requests])
        return arrival

    def _uncount(self, arrival: Arrival) -> None:
        if arrival.is_counted:
            arrival.is_counted = False
            self._sums[arrival.place] = _less(self._sums[arrival.place], arrival.requests)


def _less(amounts: Amounts, taken: Amounts) -> Amounts:
    """Subtract; what comes to nothing is left out."""
    left = add([amounts, {name: -amount for name, amount in taken.items()}])
    return {name: amount for name, amount in left.items() if amount != Decimal(0)}


def _standing(workload: kueue.Workload) -> tuple[object, ...]:
    status = workload.status
    return workload.is_live, workload.clusters, status.admission, status.admission_checks

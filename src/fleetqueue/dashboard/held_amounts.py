"""What the jobs of this hub hold on each cluster, kept up as jobs come and go."""

from collections import defaultdict
from decimal import Decimal

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.quantity import Amounts


class HeldAmounts:
    """Adding all up again for each change would take a fifth of a second with ten thousand jobs."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, Amounts]] = {}
        """Of each Workload that runs, its MultiKueueCluster and what it holds there."""
        self._totals: dict[str, defaultdict[str, Decimal]] = {}

    def put(self, workload: kueue.Workload) -> None:
        self.remove(workload.key)
        member = workload.status.cluster_name
        if member and workload.is_live and workload.is_true(kueue.ADMITTED):
            self._held[workload.key] = (member, workload.requests)
            self._add(member, workload.requests, 1)

    def remove(self, key: str) -> None:
        member, amounts = self._held.pop(key, ("", {}))
        self._add(member, amounts, -1)

    def on(self, member: str) -> Amounts:
        """Return what is held on a MultiKueueCluster."""
        return dict(self._totals.get(member, {}))

    def where(self, key: str) -> str:
        """Name the MultiKueueCluster that a Workload runs on; empty where it does not."""
        return self._held.get(key, ("", {}))[0]

    def _add(self, member: str, amounts: Amounts, sign: int) -> None:
        totals = self._totals.setdefault(member, defaultdict(Decimal))
        for name, amount in amounts.items():
            totals[name] += sign * amount

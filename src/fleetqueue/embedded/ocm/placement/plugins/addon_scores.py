"""AddOn scores: what an add-on says of a cluster in an AddOnPlacementScore; taken as it is.

A missing score counts 0. So does one that has expired, and then somebody is warned.

Mirrors: OCM pkg/placement/plugins/addon
"""

from datetime import datetime

from fleetqueue.api.cluster_v1 import AddOnScore, ManagedCluster
from fleetqueue.embedded.ocm.placement.plugins.interface import Facts, Prioritizer


class AddOn(Prioritizer):
    def __init__(self, wanted: AddOnScore, facts: Facts) -> None:
        self.name = f"AddOn/{wanted.resource_name}/{wanted.score_name}"
        self._wanted = wanted
        self._facts = facts
        self._scores: dict[str, int] = {}
        self._until: dict[str, datetime] = {}
        self._expired: set[str] = set()

    def enter(self, cluster: ManagedCluster, now: datetime) -> None:
        name = cluster.name
        self.leave(name)
        found = self._facts.score(name, self._wanted.resource_name)
        if found is None:
            return
        if found.is_expired(now):
            self._expired.add(name)
            return
        self._scores[name] = found.value(self._wanted.score_name) or 0
        if found.status.valid_until is not None:
            self._until[name] = found.status.valid_until

    def leave(self, name: str) -> None:
        self._scores.pop(name, None)
        self._until.pop(name, None)
        self._expired.discard(name)

    def score(self, name: str) -> int:
        return self._scores.get(name, 0)

    def until(self, name: str) -> datetime | None:
        return self._until.get(name)

    @property
    def warning(self) -> str:
        if not self._expired:
            return ""
        names = " ".join(f"{name}/{self._wanted.resource_name}" for name in sorted(self._expired))
        return f"AddOnPlacementScores {names} expired in plugin {self.name}"

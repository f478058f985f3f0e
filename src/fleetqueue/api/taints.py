"""Taints of nodes, the tolerations of pods, and for how long a pod tolerates."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from fleetqueue.api.meta import View

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


class Taint(View):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None

    @property
    def keeps_out(self) -> bool:
        """Whether no pod is scheduled that does not tolerate it; PreferNoSchedule only discourages."""
        return self.effect in (NO_SCHEDULE, NO_EXECUTE)


class Toleration(View):
    key: str = ""
    """Empty, with the operator Exists, means every taint."""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    """Empty means every effect."""
    toleration_seconds: int | None = None
    """How long a taint with the effect NoExecute is tolerated; None is for ever, and less than 0 is not at all."""

    def fits(self, taint: Taint) -> bool:
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.value == taint.value


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(toleration.fits(taint) for toleration in tolerations)

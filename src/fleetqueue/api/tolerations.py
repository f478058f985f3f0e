"""Which pods do not mind a node's taints, and for how long."""

from collections.abc import Iterable

from fleetqueue.api.core_v1 import Taint
from fleetqueue.api.meta import View


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

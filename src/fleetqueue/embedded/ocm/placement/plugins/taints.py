"""TaintToleration: a cluster passes if every one of its taints is tolerated.

PreferNoSelect keeps nobody away, and does not lower a score either. NoSelectIfNew does not concern clusters that are
chosen already.

Mirrors: OCM pkg/placement/plugins/tainttoleration
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fleetqueue.api.cluster_v1 import (
    NO_SELECT_IF_NEW,
    PREFER_NO_SELECT,
    ClusterTaint,
    ManagedCluster,
    Placement,
    Toleration,
)
from fleetqueue.embedded.ocm.placement.plugins.interface import Misconfigured

TAINT_TOLERATION: Final = "TaintToleration"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a Placement makes of a cluster's taints."""

    offence: ClusterTaint | None = None
    """The taint that keeps the cluster away; None where it passes."""
    until: datetime | None = None
    """When a toleration ends."""


NOTHING_TO_TOLERATE: Final = Tolerance()


def problem_of(placement: Placement) -> Misconfigured | None:
    """Say what is wrong with the tolerations; of no concern while there is no cluster to judge."""
    for toleration in placement.spec.tolerations:
        if not toleration.key and toleration.operator != "Exists":
            return Misconfigured(TAINT_TOLERATION, "If the key is empty, operator must be Exists.")
        if toleration.operator == "Exists" and toleration.value:
            return Misconfigured(TAINT_TOLERATION, "If the operator is Exists, the value should be empty.")
    return None


def tolerance(
    cluster: ManagedCluster, tolerations: Sequence[Toleration], now: datetime, *, is_chosen: bool
) -> Tolerance:
    """Judge a cluster by its taints."""
    if not cluster.spec.taints:
        return NOTHING_TO_TOLERATE
    ends: list[datetime] = []
    for taint in cluster.spec.taints:
        if taint.effect == PREFER_NO_SELECT or (taint.effect == NO_SELECT_IF_NEW and is_chosen):
            continue
        toleration = next((t for t in tolerations if t.tolerates_at(taint, now)), None)
        if toleration is None:
            return Tolerance(offence=taint)
        if end := toleration.end(taint):
            ends.append(end)
    return Tolerance(until=min(ends, default=None))

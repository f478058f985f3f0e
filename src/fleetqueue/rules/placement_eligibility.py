"""Whether a Placement may choose a cluster: by its labels and claims, and by the taints that it tolerates.

Mirrors: OCM pkg/placement/plugins/tainttoleration, pkg/placement/helpers/clusters.go
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fleetqueue.api.cluster_v1 import (
    CLUSTER_SET_LABEL,
    GLOBAL_SET,
    NO_SELECT_IF_NEW,
    PREFER_NO_SELECT,
    ClusterTaint,
    ClusterToleration,
    ManagedCluster,
    Placement,
)
from fleetqueue.api.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a Placement makes of a cluster's taints."""

    offence: ClusterTaint | None = None
    """The taint that keeps the cluster away; None where it passes."""
    until: datetime | None = None
    """When a toleration ends."""


NOTHING_TO_TOLERATE: Final = Tolerance()


def tolerance(
    cluster: ManagedCluster, tolerations: Sequence[ClusterToleration], now: datetime, *, is_chosen: bool
) -> Tolerance:
    """Judge a cluster by its taints.

    PreferNoSelect keeps nobody away, and NoSelectIfNew none that is chosen already.
    """
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


def matches(labels: LabelSelector, claims: LabelSelector, cluster: ManagedCluster) -> bool:
    """Tell whether both selectors mean a cluster; raises ValueError where one has an operator that there is not."""
    return labels.matches(cluster.metadata.labels) and claims.matches(cluster.claims)


def may_stay(placement: Placement, cluster: ManagedCluster, now: datetime) -> bool:
    """Tell whether a chosen cluster could still be chosen, so that only a better score can have replaced it.

    Where that cannot be known here (a CEL selector, one that cannot be read, a set whose clusters have other labels),
    the answer is no.
    """
    sets = placement.spec.cluster_sets
    if sets and GLOBAL_SET not in sets and cluster.metadata.labels.get(CLUSTER_SET_LABEL) not in sets:
        return False
    if cluster.is_deleting or tolerance(cluster, placement.spec.tolerations, now, is_chosen=True).offence is not None:
        return False
    selectors = [predicate.required_cluster_selector for predicate in placement.spec.predicates]
    by_names = [selector for selector in selectors if not selector.cel_selector]
    try:
        return not selectors or any(
            matches(selector.label_selector, selector.claim_selector, cluster) for selector in by_names
        )
    except ValueError:
        return False

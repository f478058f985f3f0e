"""The rows of the fleet: each cluster with its connection, its credential, its room and its scores. No I/O."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from fleetqueue.admin.inventory import connection_row, left_out, status
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, REFUSED, credentials_secret
from fleetqueue.api.quantity import Amounts, parse
from fleetqueue.api.usage_scores import FRESH, RESOURCES, SCORES, ScoreScope
from fleetqueue.controllers.credentials.secret_content import EXPIRES
from fleetqueue.dashboard.rows import Row, seconds

CLUSTER_SCORES: Final = {score.resource: score.name for score in reversed(SCORES) if score.scope is ScoreScope.CLUSTER}
"""The score of each resource over all nodes of a cluster, under its newest name."""

History = Mapping[str, Sequence[tuple[float, int]]]
"""Of each resource, when its score changed and to what."""


def members_by_cluster(members: Iterable[kueue.MultiKueueCluster]) -> dict[str, list[kueue.MultiKueueCluster]]:
    """Sort Kueue's connections by the ManagedCluster that they lead to."""
    found = defaultdict(list)
    for member in members:
        found[cluster_of(member)].append(member)
    return found


def cluster_of(member: kueue.MultiKueueCluster) -> str:
    """Name the ManagedCluster of a connection; one that was made by hand is known by its source, or by its own name."""
    if name := member.metadata.labels.get(CLUSTER_LABEL):
        return name
    source = member.spec.cluster_source
    if source.cluster_profile_ref is not None:
        return source.cluster_profile_ref.name
    prefix, _, suffix = credentials_secret("\0").partition("\0")
    location = source.kube_config.location if source.kube_config else ""
    if location.startswith(prefix) and location.endswith(suffix):
        return location[len(prefix) : -len(suffix)]
    return member.name


def cluster_row(
    managed: cluster.ManagedCluster,
    *,
    members: Sequence[kueue.MultiKueueCluster] = (),
    secret: Secret | None = None,
    score: cluster.AddOnPlacementScore | None = None,
    history: History | None = None,
    taken: Amounts | None = None,
    checks: Iterable[kueue.AdmissionCheck] = (),
) -> Row:
    """Tell of a cluster what the hub knows; `taken` is what the jobs hold that the hub sent there."""
    available = conditions.find(managed.status.conditions, cluster.AVAILABLE)
    return {
        "name": managed.name,
        "set": managed.metadata.labels.get(cluster.CLUSTER_SET_LABEL, ""),
        "accepted": managed.spec.hub_accepts_client,
        "available": available.status if available else conditions.UNKNOWN,
        "why": "" if available is None or available.is_true else available.message or available.reason,
        "version": managed.status.version.kubernetes,
        "connected": connected(members),
        "refusal": "; ".join(member.refusal for member in members if member.refusal),
        "leftOut": [f"{entry['check']}: {entry['reason']}" for entry in left_out(managed.name, checks)],
        "until": credential_until(secret),
        "refused": bool(secret and REFUSED in secret.metadata.annotations),
        "room": room(managed, taken or {}),
        "scores": scores(score),
        "fresh": status(score.status.conditions, FRESH) if score else "",
        "history": {resource: [list(point) for point in points] for resource, points in (history or {}).items()},
    }


def connected(members: Sequence[kueue.MultiKueueCluster]) -> str:
    """Say whether Kueue is connected: the worst of its connections; empty where it has none."""
    found = {str(connection_row(member)["connected"]) for member in members}
    return next((state for state in (conditions.FALSE, conditions.UNKNOWN, conditions.TRUE) if state in found), "")


def credential_until(secret: Secret | None) -> float | None:
    """Return when the credential of a cluster ends, as the secret says on its outside."""
    written = secret.metadata.annotations.get(EXPIRES, "") if secret else ""
    try:
        return seconds(datetime.fromisoformat(written)) if written else None
    except ValueError:
        return None


def room(managed: cluster.ManagedCluster, taken: Amounts) -> Row:
    """Return of each resource how much the cluster has, and how much of that the jobs of this hub hold."""
    has = {**managed.status.capacity, **managed.status.allocatable}
    return {name: [float(taken.get(name, 0)), float(parse(has[name]))] for name in RESOURCES if name in has}


def scores(score: cluster.AddOnPlacementScore | None) -> Row:
    """Return the score of each resource, where there is one."""
    if score is None:
        return {}
    values = {resource: score.value(name) for resource, name in CLUSTER_SCORES.items()}
    return {resource: value for resource, value in values.items() if value is not None}

"""Drain a worker and let it serve again, by a taint of its ManagedCluster that no Placement tolerates by itself.

Every Placement then drops the cluster, and the controller drains it: jobs that run there go on, new ones go elsewhere.

Reads:  ManagedCluster, Placement, AdmissionCheck, MultiKueueCluster, MultiKueueConfig, Workload
Writes: the taints of the ManagedCluster
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from fleetqueue.admin.hub_state import seen
from fleetqueue.admin.inventory import chosen
from fleetqueue.admin.leaving import leads_to
from fleetqueue.admin.waiting import Observed
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import DRAIN_TAINT, KUEUE_NAMESPACE, placement_of
from fleetqueue.api.meta import precondition_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import is_ours

Report = Callable[[str], None]
TAINT: Final = {"key": DRAIN_TAINT, "effect": cluster.NO_SELECT}
TRIES: Final = 5
"""How often a write is tried that somebody else was faster than."""


@dataclass(frozen=True, slots=True)
class DrainState:
    """What was done to a cluster, and what stands against its drain."""

    cluster: str
    draining: bool
    changed: bool
    """False where it was so before."""
    tolerated_by: tuple[str, ...] = ()
    """The Placements, by their keys, that tolerate the taint and serve AdmissionChecks."""
    listed_by_hand: tuple[str, ...] = ()
    """The MultiKueueConfigs that somebody wrote and that list the cluster."""
    dropped_by: tuple[str, ...] = ()
    """The Placements, by their keys, that choose for others than jobs and drop the cluster as well."""
    jobs: int | None = None
    """How many jobs of the hub are on it; None where they may not be listed."""

    @property
    def row(self) -> dict[str, Any]:
        return asdict(self)


class WouldDropMore(Exception):
    """Placements for others than jobs would drop the cluster as well; the text is for the user."""


async def drain(hub: Client, name: str, kueue_namespace: str = KUEUE_NAMESPACE, *, force: bool = False) -> DrainState:
    """Taint a cluster; raises NotFound where there is none, and WouldDropMore unless forced.

    What another Placement sends there, such as queues in ManifestWorks, would be taken away from jobs that still run.
    """
    decisions = await seen(hub, cluster.PlacementDecision) or ()  # as they are before
    placements, checks = await seen(hub, cluster.Placement), await seen(hub, kueue.AdmissionCheck)
    dropped_by = tuple(p.key for p in placements or () if name in chosen(p, decisions) and drops(p, checks or ()))
    if dropped_by and not force:
        raise WouldDropMore(
            f"{', '.join(dropped_by)} would drop {name}, too, and what they send there (add-ons, ManifestWorks) would"
            f" be taken away from jobs that still run: give them a toleration of {DRAIN_TAINT}, or drain with --force"
        )
    is_changed = await _change_taints(hub, name, lambda taints: taints if is_tainted(taints) else [*taints, TAINT])
    members, configs = await seen(hub, kueue.MultiKueueCluster), await seen(hub, kueue.MultiKueueConfig)
    workloads = await seen(hub, kueue.Workload)
    names = {member.name for member in members or () if leads_to(member, name)}
    return DrainState(
        name,
        draining=True,
        changed=is_changed,
        tolerated_by=tolerating(placements or (), checks, kueue_namespace),
        listed_by_hand=tuple(c.name for c in configs or () if not is_ours(c) and names & set(c.spec.clusters)),
        dropped_by=dropped_by,
        jobs=None if workloads is None or members is None else len(jobs_on(names, workloads)),
    )


async def undrain(hub: Client, name: str) -> DrainState:
    """Take the taint off again; raises NotFound."""
    is_changed = await _change_taints(
        hub, name, lambda taints: [taint for taint in taints if taint.get("key") != DRAIN_TAINT]
    )
    return DrainState(name, draining=False, changed=is_changed)


def is_tainted(taints: Iterable[Manifest]) -> bool:
    return any(taint.get("key") == DRAIN_TAINT and taint.get("effect") == cluster.NO_SELECT for taint in taints)


def tolerating(
    placements: Iterable[cluster.Placement], checks: Collection[kueue.AdmissionCheck] | None, namespace: str
) -> tuple[str, ...]:
    """Return the Placements that tolerate the taint; where checks can be seen, only those that choose for one."""
    named = None if checks is None else {placement_of(check) for check in checks}
    return tuple(
        placement.key
        for placement in placements
        if tolerates(placement) and (named is None or (placement.namespace == namespace and placement.name in named))
    )


def tolerates(placement: cluster.Placement) -> bool:
    taint = cluster.ClusterTaint(key=DRAIN_TAINT, effect=cluster.NO_SELECT)
    return any(toleration.tolerates(taint) for toleration in placement.spec.tolerations)


def drops(placement: cluster.Placement, checks: Iterable[kueue.AdmissionCheck]) -> bool:
    """Tell whether a Placement that no check names drops a drained cluster: add-ons and works may follow it."""
    return not tolerates(placement) and placement.name not in {placement_of(check) for check in checks}


def jobs_on(members: Collection[str], workloads: Iterable[kueue.Workload]) -> list[str]:
    """Return the Workloads that run on a cluster, or may have a copy there."""
    return [one.key for one in workloads if one.is_live and one.has_quota and set(one.clusters) & set(members)]


async def wait_until_drained(hub: Client, name: str, report: Report, *, limit: float) -> None:
    """Wait until nothing of ours is left on a cluster, and tell how much is; raises NotInTime."""
    told = [-1]
    async with Observed({"hub": hub}) as observed:
        observed.follow("hub", kueue.MultiKueueCluster)
        observed.follow("hub", kueue.Workload)

        def members() -> list[str]:
            found = observed["hub"].list(kueue.MultiKueueCluster)
            return [member.name for member in found if is_ours(member) and leads_to(member, name)]

        def is_empty() -> bool:
            count = len(jobs_on(members(), observed["hub"].list(kueue.Workload)))
            if told[0] != count:
                told[0] = count
                report(f"{number_of(count)} on {name}")
            return not members()

        await observed.until(
            is_empty,
            limit=limit,
            what=f"{name} drains",
            why_not=lambda: f"{number_of(told[0])} on it; MultiKueueClusters: {', '.join(members())}",
        )


def number_of(jobs: int) -> str:
    return f"{jobs or 'no'} job{'' if jobs == 1 else 's'} of ours {'is' if jobs == 1 else 'are'}"


async def _change_taints(hub: Client, name: str, change: Callable[[list[Manifest]], Sequence[Manifest]]) -> bool:
    """Write the taints of a cluster anew, unless they are as wanted; those of others stay as they are."""
    for left in reversed(range(TRIES)):
        live = await hub.get(cluster.ManagedCluster.resource, name)
        taints = (live.get("spec") or {}).get("taints") or []
        wanted = list(change(taints))
        if wanted == taints:
            return False
        patch = {"metadata": precondition_of(live["metadata"]), "spec": {"taints": wanted}}
        try:
            await hub.merge(cluster.ManagedCluster.resource, name, "", patch)
        except errors.Conflict:
            if not left:
                raise
        else:
            break
    return True

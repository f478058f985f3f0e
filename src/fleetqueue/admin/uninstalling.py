"""Take fleetqueue away from a hub while jobs run: they end as if nothing had happened, and Kueue dispatches by itself.

The order matters. Kueue gets its own dispatcher back first, so that nothing waits for us. Then the placement checks are
taken off the queues, since nobody would answer them. Then our controller stops, and only after that its finalizers go,
because it would put them back. What is in use by queues stays and is from then on an ordinary object: unlisting a
cluster would make its jobs run twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import orjson

from fleetqueue import clock
from fleetqueue.admin import dispatcher
from fleetqueue.admin.inventory import listed
from fleetqueue.admin.waiting import NotInTime, Observed
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_v1 import AddOnPlacementScore, ManagedCluster
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fence import LOST_WORKER, RERUN
from fleetqueue.api.fleetqueue import (
    ACCESS_PROVIDER,
    CHECK_CONTROLLER,
    CLUSTER_LABEL,
    CREDENTIALS_ANNOTATION,
    KUEUE_NAMESPACE,
    NAMESPACE,
    RELEASED,
    credentials_secret,
)
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import Object, precondition_of
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.cluster_profiles import ACCESS_PROVIDERS, CONSUMER, CREDENTIALS
from fleetqueue.controllers.credentials.managed_accounts import IN_USE
from fleetqueue.controllers.credentials.secret_content import read as read_credential
from fleetqueue.controllers.placement_admission.hub_objects import marks_of
from fleetqueue.controllers.placement_admission.messages import is_wait_for_cluster
from fleetqueue.controllers.placement_admission.names import DRAINING, FINALIZER, PLACEMENT_LABEL
from fleetqueue.runtime.cluster import MANAGED_BY, is_ours
from fleetqueue.runtime.leader_election import LeaseSettings

DEPLOYMENT: Final = "fleetqueue-controller"
A_MOMENT: Final = 1.0
"""Seconds in which a controller that works puts its finalizer back; it is woken when that goes."""
LABELS: Final = (MANAGED_BY, CLUSTER_LABEL, PLACEMENT_LABEL)

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to be taken away."""

    detach_checks: bool = False
    purge: bool = False
    namespace: str = NAMESPACE
    kueue_namespace: str = KUEUE_NAMESPACE
    limit: float = 60.0
    """Seconds to wait for our controller to stop, and for the hub to show what there is."""
    config_map: str = ""
    """The ConfigMap with Kueue's configuration, where somebody chose one."""
    kueue_restarted: bool = False
    """Whether somebody who sees Kueue, which has no Deployment here, says that it was restarted since."""


@dataclass(slots=True)
class Remains:
    """What an operator must know afterwards."""

    todo: list[str] = field(default_factory=list)
    """What is still to be done; the removal is not complete before."""
    notes: list[str] = field(default_factory=list)
    """What stays, and what becomes of it."""


async def uninstall(hub: Client, removal: Removal, report: Report) -> Remains:
    """Do all of it; may be done again until nothing is left to do."""
    remains = Remains()
    if waiting := await _waiting(hub):
        remains.todo.append(
            f"jobs wait for a cluster that may run them ({', '.join(waiting)}), and Kueue alone would start them "
            f"elsewhere: let them end, or set the annotation {LOST_WORKER}={RERUN} on their Workloads; then uninstall "
            "again"
        )
        return remains
    await _give_dispatcher_back(hub, removal, report, remains)
    checks = [c for c in await listed(hub, kueue.AdmissionCheck) if c.spec.controller_name == CHECK_CONTROLLER]
    await _detach(hub, {check.name for check in checks}, removal, report, remains)
    if await _stop_controller(hub, removal, report, remains):
        for check in checks:
            await _drop_finalizer(hub, check, FINALIZER, report)
        for add_on in await _held_add_ons(hub):
            await _drop_finalizer(hub, add_on, IN_USE, report)
        if checks and await _comes_back(hub, limit=removal.limit):
            remains.todo.append(
                "somebody put our finalizer back: a `fleetqueue controller` without leader election still runs; stop "
                "it, then uninstall again"
            )
        elif removal.purge:
            await _purge(hub, removal, report)
    remains.notes += await _what_stays(hub, removal)
    return remains


async def _waiting(hub: Client) -> list[str]:
    """Name the Workloads that only we keep from being started a second time."""
    return [
        workload.key
        for workload in await listed(hub, kueue.Workload)
        if workload.is_live and any(is_wait_for_cluster(check.message) for check in workload.status.admission_checks)
    ]


async def _give_dispatcher_back(hub: Client, removal: Removal, report: Report, remains: Remains) -> None:
    namespace, config_map = removal.kueue_namespace, removal.config_map
    is_changed = await dispatcher.set_back(hub, namespace, config_map)
    if is_changed:
        report("Kueue's configuration names its own dispatcher again")
        kueue_config = await dispatcher.find(hub, namespace, config_map)
        if kueue_config.managed_by:
            remains.notes.append(dispatcher.kept_elsewhere(kueue_config, "fleetqueue uninstall --print"))
    restart = await dispatcher.restart_where_due(hub, namespace, config_map, is_changed=is_changed)
    if restart.is_done:
        report(f"restarted Deployment {namespace}/{restart.deployment}")
    elif not restart.deployment and (is_changed or not removal.kueue_restarted):
        remains.todo.append(f"{dispatcher.RESTART_BY_HAND}; then uninstall again with --kueue-restarted")


async def _detach(hub: Client, checks: set[str], removal: Removal, report: Report, remains: Remains) -> None:
    """Take the checks off the queues, or say which queues would wait for ever."""
    for raw in (await hub.list(kueue.ClusterQueue.resource)).items:
        name, patch = raw["metadata"]["name"], without_checks(raw, checks)
        if patch is None:
            continue
        if removal.detach_checks:
            await hub.merge(kueue.ClusterQueue.resource, name, "", patch)
            report(f'took the placement checks off ClusterQueue "{name}"')
        else:
            remains.todo.append(
                f'ClusterQueue "{name}" has placement checks that nobody answers now, so its new jobs wait: '
                "uninstall again with --detach-checks"
            )


def without_checks(queue: dict[str, Any], checks: set[str]) -> dict[str, Any] | None:
    """Return the patch that takes checks off a queue; None where it has none of them."""
    strategy = queue.get("spec", {}).get("admissionChecksStrategy") or {}
    entries = strategy.get("admissionChecks") or []
    kept = [entry for entry in entries if entry.get("name") not in checks]
    if kept == entries:
        return None
    wanted = {"admissionChecks": kept} if kept else None
    return {"metadata": precondition_of(queue["metadata"]), "spec": {"admissionChecksStrategy": wanted}}


async def _stop_controller(hub: Client, removal: Removal, report: Report, remains: Remains) -> bool:
    """Stop our Deployment where there is one; return whether no controller leads any more."""
    nobody_stops_it = ""
    try:
        await hub.merge(dispatcher.DEPLOYMENTS, DEPLOYMENT, removal.namespace, {"spec": {"replicas": 0}})
        report(f"scaled Deployment {removal.namespace}/{DEPLOYMENT} to 0")
        limit = removal.limit
    except errors.NotFound:
        limit = 0.5  # nobody stops it now, so there is nothing to wait for
        nobody_stops_it = f"there is no Deployment {removal.namespace}/{DEPLOYMENT} to scale to 0; "
    try:
        await _wait_until_nobody_leads(hub, removal, limit=limit)
    except NotInTime as late:
        remains.todo.append(f"{nobody_stops_it}{late}: stop it, then uninstall again")
        return False
    return True


async def _wait_until_nobody_leads(hub: Client, removal: Removal, *, limit: float) -> None:
    name = LeaseSettings().name
    async with Observed({"hub": hub}) as seen:
        seen.follow("hub", Lease, namespace=removal.namespace, fields=f"metadata.name={name}")

        def holder() -> str:
            lease = seen["hub"].get(Lease, name, removal.namespace)
            return lease.spec.holder_identity if lease is not None and is_held(lease) else ""

        await seen.synced(limit=removal.limit)
        await seen.until(
            lambda: not holder(),
            limit=limit,
            what="the controller stops",
            why_not=lambda: f"{holder()} still leads",
        )


def is_held(lease: Lease) -> bool:
    """Tell whether somebody holds a lease and was heard lately."""
    spec = lease.spec
    if not spec.holder_identity or spec.renew_time is None:
        return False
    return clock.now() < spec.renew_time + timedelta(seconds=spec.lease_duration_seconds)


async def _held_add_ons(hub: Client) -> list[ManagedClusterAddOn]:
    """Return the add-ons that our controller keeps while it uses their tokens: nobody else would ever let them go."""
    try:
        return [add_on for add_on in await listed(hub, ManagedClusterAddOn) if IN_USE in add_on.metadata.finalizers]
    except errors.NotFound:
        return []  # a hub without add-ons


async def _drop_finalizer(hub: Client, seen: Object, finalizer: str, report: Report) -> None:
    """Let an object go, as it is now: others and our controller have written to it since it was listed."""
    for is_last in (False, False, True):
        try:
            live = type(seen).view(await hub.get(seen.resource, seen.name, seen.namespace))
        except errors.NotFound:
            return
        kept = [other for other in live.metadata.finalizers if other != finalizer]
        if len(kept) == len(live.metadata.finalizers):
            return
        metadata = {**live.precondition, "finalizers": kept or None}
        try:
            await hub.merge(live.resource, live.name, live.namespace, {"metadata": metadata})
        except errors.Conflict:
            if is_last:
                raise
        else:
            report(f"{live} is free of our finalizer")
            return


async def _comes_back(hub: Client, *, limit: float) -> bool:
    """Tell whether some controller works on: one without leader election is seen only by what it does."""
    async with Observed({"hub": hub}) as seen:
        seen.follow("hub", kueue.AdmissionCheck)
        await seen.synced(limit=limit)
        try:
            await seen.until(
                lambda: any(FINALIZER in check.metadata.finalizers for check in seen["hub"].list(kueue.AdmissionCheck)),
                limit=A_MOMENT,
                what="our finalizer comes back",
            )
        except NotInTime:
            return False
        return True


async def _purge(hub: Client, removal: Removal, report: Report) -> None:
    """Make what is in use an ordinary object, and delete what only we used."""
    used: tuple[tuple[type[Object], str], ...] = (
        (kueue.MultiKueueConfig, ""),
        (kueue.MultiKueueCluster, ""),
        (Secret, removal.kueue_namespace),
    )
    for kind, namespace in used:
        for obj in await listed(hub, kind, namespace):
            if is_ours(obj):
                await hub.merge(kind.resource, obj.name, obj.namespace, {"metadata": release(obj)})
                report(f"{obj} is an ordinary object now")
    for kind, namespace in ((AddOnPlacementScore, ""), (Lease, ""), (Secret, removal.namespace)):
        for obj in await listed(hub, kind, namespace):
            if is_ours(obj):
                await hub.delete(kind.resource, obj.name, obj.namespace, uid=obj.uid)
                report(f"deleted {obj}")
    for cluster in await listed(hub, ManagedCluster):
        if metadata := marks_on_cluster(cluster):
            await hub.merge(cluster.resource, cluster.name, "", {"metadata": metadata})
            report(f"{cluster} has no mark of ours any more")
    await _purge_profiles(hub, removal, report)


async def _purge_profiles(hub: Client, removal: Removal, report: Report) -> None:
    """Take our entries off the ClusterProfiles, but for those through which Kueue reaches a worker."""
    try:
        profiles = await listed(hub, ClusterProfile, removal.kueue_namespace)
    except errors.NotFound:
        return  # a hub without an inventory
    sources = [member.spec.cluster_source for member in await listed(hub, kueue.MultiKueueCluster)]
    in_use = {source.cluster_profile_ref.name for source in sources if source.cluster_profile_ref is not None}
    for profile in profiles:
        status = without_our_entries(profile)
        if status and profile.name in in_use:
            report(f"{profile} keeps our entry, since a MultiKueueCluster uses it")
        elif status:
            patch = {"metadata": profile.precondition, "status": status}
            await hub.merge(profile.resource, profile.name, profile.namespace, patch, subresource="status")
            report(f"{profile} has no entry of ours any more")


def marks_on_cluster(cluster: ManagedCluster) -> dict[str, Any]:
    """Return the metadata that take our label and annotation off a ManagedCluster; nothing where it has neither."""
    metadata: dict[str, Any] = {}
    if is_ours(cluster):
        metadata["labels"] = {MANAGED_BY: None}
    if CREDENTIALS_ANNOTATION in cluster.metadata.annotations:
        metadata["annotations"] = {CREDENTIALS_ANNOTATION: None}
    return {"uid": cluster.uid, **metadata} if metadata else {}


def without_our_entries(profile: ClusterProfile) -> dict[str, Any]:
    """Return the lists of a profile's status that have an entry of ours, without it."""
    secret = credentials_secret(profile.name)
    live = {ACCESS_PROVIDERS: profile.status.access_providers, CREDENTIALS: profile.status.credentials}
    kept = {
        ACCESS_PROVIDERS: [entry for entry in live[ACCESS_PROVIDERS] if entry.get("name") != ACCESS_PROVIDER],
        CREDENTIALS: [
            entry
            for entry in live[CREDENTIALS]
            if (entry.get("consumer"), (entry.get("accessRef") or {}).get("name")) != (CONSUMER, secret)
        ],
    }
    return {field: entries for field, entries in kept.items() if len(entries) < len(live[field])}


def release(obj: Object) -> dict[str, Any]:
    """Return the metadata that make an object an ordinary one, which a later installation knows again."""
    labels = {name: value for name, value in obj.metadata.labels.items() if name in LABELS}
    released = orjson.dumps(labels, option=orjson.OPT_SORT_KEYS).decode()
    return {"labels": dict.fromkeys(LABELS), "annotations": {DRAINING: None, RELEASED: released}}


async def _what_stays(hub: Client, removal: Removal) -> list[str]:
    notes = []
    for config in await listed(hub, kueue.MultiKueueConfig):
        if draining := marks_of(config):
            notes.append(
                f"{config} still lists {', '.join(draining)}, which was draining: Kueue may send new jobs there; "
                "unlist it by hand when it is empty, not before"
            )
    if configs := [c.name for c in await listed(hub, kueue.MultiKueueConfig) if is_ours(c)]:
        notes.append(f"MultiKueueConfigs {', '.join(configs)} and their clusters stay; no Placement changes them now")
    ends = [c.expires for s in await listed(hub, Secret, removal.kueue_namespace) if (c := read_credential(s))]
    if ends:
        notes.append(
            f"nobody renews the kubeconfig secrets of the workers: the first ends at {timestamp(min(ends))}; "
            "make lasting ones with `fleetqueue kubeconfig create --lifetime ...`"
        )
    return notes

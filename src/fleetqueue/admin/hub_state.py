"""What of the hub decides over jobs: checks, queues, connections, and whether somebody answers for our checks.

Who may not see a kind gets what the others say: what is not known is never told as a fault.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec

from fleetqueue import clock
from fleetqueue.admin.placement_verdicts import FleetObjects
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fence import LEASE as FENCE_LEASE
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL, KUEUE_NAMESPACE
from fleetqueue.api.meta import O, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import LABELLED_OURS
from fleetqueue.runtime.events import COMPONENT
from fleetqueue.runtime.leader_election import LeaseSettings

EXPLAINING: Final = ("NominationRefused", "NoClusterToNominate", "WaitingForCluster", "EvictionStuck")
"""The Events that say why a Workload is not sent anywhere, or not any further, or does not leave."""
NOMINATED: Final = "Nominated"
"""The Event of a nomination."""
SILENT_SECONDS: Final = 60.0
"""A controller renews its lease every two seconds; the clock here and the controller's may differ a little."""
LEASE: Final = LeaseSettings()


@dataclass(frozen=True, slots=True)
class HubState:
    checks: Mapping[str, kueue.AdmissionCheck] | None = None
    """None where they cannot be seen."""
    local_queues: Mapping[str, kueue.LocalQueue] | None = None
    """By key; None where they cannot be seen."""
    cluster_queues: Mapping[str, kueue.ClusterQueue] | None = None
    """By name; None where they cannot be seen."""
    flavors: Collection[str] | None = None
    """The names of ResourceFlavors; None where they cannot be seen."""
    configs: Mapping[str, kueue.MultiKueueConfig] | None = None
    """By name; None where they cannot be seen."""
    members: Mapping[str, kueue.MultiKueueCluster] | None = None
    """By name; None where they cannot be seen."""
    fleet: FleetObjects = field(default_factory=FleetObjects)
    notes: Mapping[str, str] = field(default_factory=dict)
    """Why the dispatcher did not send a Workload anywhere, or not any further, by the Workload's uid."""
    nominations: Mapping[str, str] = field(default_factory=dict)
    """What the dispatcher said of all clusters when it last nominated one, by the Workload's uid."""
    said_at: Mapping[str, datetime] = field(default_factory=dict)
    """When the dispatcher last said something of a Workload, by the Workload's uid."""
    jobs: Mapping[str, Job] = field(default_factory=dict)
    """By uid."""
    rolling_out: Collection[str] = ()
    """The keys of StatefulSets whose template was changed; that of a LeaderWorkerSet's leaders is called as that is."""
    kueue_namespace: str = KUEUE_NAMESPACE
    now: datetime = field(default_factory=clock.now)
    silence: str = ""
    """Why nobody seems to answer for our checks; empty where somebody does, or nothing is known."""

    def queue_of(self, workload: kueue.Workload) -> kueue.ClusterQueue | None:
        """Return the ClusterQueue that a Workload waits in; None where there is none, or it cannot be seen."""
        return self.queue_named(workload.spec.queue_name, workload.namespace)

    def queue_named(self, name: str, namespace: str) -> kueue.ClusterQueue | None:
        """Return the ClusterQueue to which a LocalQueue leads; None where there is none, or it cannot be seen."""
        local = (self.local_queues or {}).get(key_of(namespace, name))
        return (self.cluster_queues or {}).get(local.spec.cluster_queue) if local is not None else None

    def lacks_multikueue(self, names: Iterable[str]) -> bool:
        """Tell whether one of these checks is ours and none is MultiKueue's; False where not all can be seen."""
        found = [(self.checks or {}).get(name) for name in names]
        are_others = (check is not None and not check.is_multikueue for check in found)
        return any(map(is_placement_check, found)) and all(are_others)

    def cluster_of(self, member: str) -> str:
        """Return the cluster that a MultiKueueCluster leads to; its own name where nobody can tell."""
        found = (self.members or {}).get(member)
        return found.metadata.labels.get(CLUSTER_LABEL, member) if found is not None else member

    def trouble(self, member: str) -> str:
        """Say what is wrong with a MultiKueueCluster; empty where nothing is, or nobody can tell."""
        if self.members is None:
            return ""
        found = self.members.get(member)
        return trouble_of(found, self.fleet.clusters_by_name) if found is not None else "its MultiKueueCluster is gone"


async def look(hub: Client, namespace: str = "", *, kueue_namespace: str = KUEUE_NAMESPACE) -> HubState:
    """See what there is around the jobs of a namespace, or of all."""
    jobs, stateful_sets, events, silence = await asyncio.gather(
        seen(hub, Job, namespace), seen(hub, StatefulSet, namespace), _events(hub, namespace), controller_silence(hub)
    )
    checks, local, cluster_queues, flavors, configs, members = await asyncio.gather(
        seen(hub, kueue.AdmissionCheck),
        seen(hub, kueue.LocalQueue, namespace),
        seen(hub, kueue.ClusterQueue),
        seen(hub, kueue.ResourceFlavor),
        seen(hub, kueue.MultiKueueConfig),
        seen(hub, kueue.MultiKueueCluster),
    )
    return HubState(
        checks=_by_key(checks),
        local_queues=_by_key(local),
        cluster_queues=_by_key(cluster_queues),
        flavors=_by_key(flavors),
        configs=_by_key(configs),
        members=_by_key(members),
        fleet=await fleet_objects(hub),
        notes=last_notes(events),
        nominations=last_notes(events, (NOMINATED,)),
        said_at=last_times(events),
        kueue_namespace=kueue_namespace,
        jobs={job.uid: job for job in jobs or ()},
        rolling_out={one.key for one in stateful_sets or () if one.is_rolling_out},
        silence=silence,
    )


async def fleet_objects(hub: Client) -> FleetObjects:
    """See what decides over the choice of Placements."""
    clusters, sets, bindings, placements, decisions, scores = await asyncio.gather(
        seen(hub, cluster.ManagedCluster),
        seen(hub, cluster.ManagedClusterSet),
        seen(hub, cluster.ManagedClusterSetBinding),
        seen(hub, cluster.Placement),
        seen(hub, cluster.PlacementDecision),
        seen(hub, cluster.AddOnPlacementScore),
    )
    return FleetObjects(clusters, sets, bindings, placements, decisions, scores)


def _by_key(objects: list[O] | None) -> dict[str, O] | None:
    return None if objects is None else {one.key: one for one in objects}


def last_times(events: Iterable[Manifest]) -> dict[str, datetime]:
    """Return, by the uid of each object, when its newest Event was written."""
    newest = {str((event.get("regarding") or {}).get("uid")): _time(event) for event in sorted(events, key=_time)}
    return {uid: msgspec.convert(time, datetime) for uid, time in newest.items() if time}


def last_notes(events: Iterable[Manifest], reasons: Collection[str] = EXPLAINING) -> dict[str, str]:
    """Return, by the uid of each object, what its newest Event says; nothing where that has another reason."""
    newest = {str((event.get("regarding") or {}).get("uid")): event for event in sorted(events, key=_time)}
    return {uid: str(event.get("note") or "") for uid, event in newest.items() if event.get("reason") in reasons}


def trouble_of(member: kueue.MultiKueueCluster, managed: Mapping[str, cluster.ManagedCluster] | None) -> str:
    """Say why a job on a member may be lost; `managed` is None where ManagedClusters cannot be seen."""
    if not member.is_connected:
        return f"Kueue is not connected to it: {member.refusal}" if member.refusal else "Kueue has not reached it yet"
    name = member.metadata.labels.get(CLUSTER_LABEL)
    if name is None or managed is None:
        return ""
    managed_cluster = managed.get(name)
    if managed_cluster is None:
        return f"ManagedCluster {name} is gone"
    available = conditions.find(managed_cluster.status.conditions, cluster.AVAILABLE)
    if available is None or available.is_true:
        return ""
    return f"ManagedCluster {name} is not available: {available.message or available.reason}"


def silence_of(lease: Lease | None) -> str:
    """Say that nobody keeps the lease of our controller; empty where somebody does."""
    key = lease.key if lease is not None else key_of(LEASE.namespace, LEASE.name)
    if lease is None:
        return f"there is no lease {key}; does a fleetqueue controller run?"
    if not lease.spec.holder_identity:
        return f"nobody holds the lease {key}; does a fleetqueue controller run?"
    renewed = lease.spec.renew_time
    if renewed is None or (clock.now() - renewed).total_seconds() <= SILENT_SECONDS:
        return ""
    return f"{lease.spec.holder_identity} has not renewed the lease {key} since {conditions.timestamp(renewed)}"


async def seen(hub: Client, kind: type[O], namespace: str = "") -> list[O] | None:
    """List a kind; None where that is not allowed, or it is not served."""
    try:
        return [kind.view(raw) for raw in (await hub.list(kind.resource, namespace)).items]
    except (errors.Forbidden, errors.NotFound):
        return None


async def _events(hub: Client, namespace: str) -> list[Manifest]:
    """List what our controller says of Workloads; who may not list Events still sees the objects themselves."""
    fields = f"reportingController={COMPONENT},regarding.kind={kueue.Workload.resource.kind}"
    try:
        return list((await hub.list(Event.resource, namespace, fields=fields)).items)
    except errors.Forbidden:
        return []


async def controller_silence(hub: Client) -> str:
    """Say why no controller of ours seems to run; empty where one does, or that is not known.

    The chart gives the lease the name and namespace of its release, so it is known by its label.

    Who may not list leases sees the one of the usual name; that there is none tells nothing then.
    """
    labelled: list[Lease] | None
    try:
        page = await hub.list(Lease.resource, labels=LABELLED_OURS)
        leases = map(Lease.view, page.items)
        labelled = [lease for lease in leases if lease.name != FENCE_LEASE]  # those are the agents'
    except errors.Forbidden:
        labelled = None
    if labelled:
        return min(map(silence_of, labelled), key=len)  # of several, one that is kept says nothing
    try:
        lease = Lease.view(await hub.get(Lease.resource, LEASE.name, LEASE.namespace))
    except errors.NotFound:
        return "" if labelled is None else silence_of(None)
    except errors.Forbidden:
        return ""
    return silence_of(lease)


def is_placement_check(check: kueue.AdmissionCheck | None) -> bool:
    """Tell whether a check is ours to serve."""
    return check is not None and check.spec.controller_name == CHECK_CONTROLLER


def _time(event: Manifest) -> str:
    return str(event.get("eventTime") or "")

"""What of the hub decides over jobs: checks, queues, connections, and whether somebody answers for our checks.

Who may not see a kind gets what the others say: what is not known is never told as a fault.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL
from fleetqueue.api.meta import O, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import LABELLED_OURS
from fleetqueue.runtime.events import COMPONENT
from fleetqueue.runtime.leader_election import LeaseSettings

EXPLAINING: Final = ("NominationRefused", "NoClusterToNominate", "WaitingForCluster")
"""The Events by which the dispatcher says why a Workload is not sent anywhere, or not any further."""
SILENT_SECONDS: Final = 60.0
"""A controller renews its lease every two seconds; the clock here and the controller's may differ a little."""
LEASE: Final = LeaseSettings()


@dataclass(frozen=True, slots=True)
class HubState:
    checks: Mapping[str, kueue.AdmissionCheck] | None = None
    """None where they cannot be seen."""
    queues: Mapping[str, kueue.ClusterQueue] = field(default_factory=dict)
    """By the keys of LocalQueues."""
    troubles: Mapping[str, str] | None = None
    """What is wrong with each MultiKueueCluster, empty where nothing is; None where they cannot be seen."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """The dispatcher's last words, by the uid of their Workload."""
    jobs: Mapping[str, Job] = field(default_factory=dict)
    """By uid."""
    silence: str = ""
    """Why nobody seems to answer for our checks; empty where somebody does, or nothing is known."""

    def inactive(self, names: Iterable[str]) -> str:
        """Say which of these checks lets nothing start, and why; one of ours goes first: it has the better reason."""
        if self.checks is None:
            return ""
        lines = [
            (not _is_ours(check), f"check {name} {trouble}")
            for name in names
            if (trouble := self._trouble_of(check := self.checks.get(name)))
        ]
        return min(lines)[1] if lines else ""

    def unanswered(self, names: Iterable[str]) -> str:
        """Say why nobody seems to answer for these checks; empty where somebody does, or none of them is ours."""
        ours = any(_is_ours((self.checks or {}).get(name)) for name in names)
        return f"nobody answers: {self.silence}" if ours and self.silence else ""

    def lacks_multikueue(self, names: Iterable[str]) -> bool:
        """Tell whether one of these checks is ours and none is MultiKueue's; False where not all can be seen."""
        found = [(self.checks or {}).get(name) for name in names]
        are_others = (check is not None and not check.is_multikueue for check in found)
        return any(_is_ours(check) for check in found) and all(are_others)

    def trouble(self, member: str) -> str:
        """Say what is wrong with a MultiKueueCluster."""
        return "" if self.troubles is None else self.troubles.get(member, "its MultiKueueCluster is gone")

    def _trouble_of(self, check: kueue.AdmissionCheck | None) -> str:
        if check is None:
            return "does not exist"
        if check.is_active:
            return ""
        active = conditions.find(check.status.conditions, kueue.ACTIVE)
        if active is not None:
            return f"is not Active: {active.reason}: {active.message}"
        unanswered = f": {self.silence}" if self.silence and _is_ours(check) else ""
        return f"was not looked at yet by {check.spec.controller_name}{unanswered}"


async def look(hub: Client, namespace: str = "") -> HubState:
    """See what there is around the jobs of a namespace, or of all."""
    jobs = await seen(hub, Job, namespace)
    checks, local, cluster_queues, troubles, notes, silence = await asyncio.gather(
        seen(hub, kueue.AdmissionCheck),
        seen(hub, kueue.LocalQueue, namespace),
        seen(hub, kueue.ClusterQueue),
        _troubles(hub),
        _notes(hub, namespace),
        _silence(hub),
    )
    queues = {queue.name: queue for queue in cluster_queues or ()}
    return HubState(
        checks=None if checks is None else {check.name: check for check in checks},
        queues={q.key: queues[q.spec.cluster_queue] for q in local or () if q.spec.cluster_queue in queues},
        troubles=troubles,
        notes=notes,
        jobs={job.uid: job for job in jobs or ()},
        silence=silence,
    )


def last_notes(events: Iterable[Manifest]) -> dict[str, str]:
    """Return, by the uid of each object, what its newest Event says; nothing where that explains no waiting."""
    newest = {str((event.get("regarding") or {}).get("uid")): event for event in sorted(events, key=_time)}
    return {uid: str(event.get("note") or "") for uid, event in newest.items() if event.get("reason") in EXPLAINING}


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


async def _troubles(hub: Client) -> dict[str, str] | None:
    members, managed = await asyncio.gather(seen(hub, kueue.MultiKueueCluster), seen(hub, cluster.ManagedCluster))
    if members is None:
        return None
    by_name = None if managed is None else {managed_cluster.name: managed_cluster for managed_cluster in managed}
    return {member.name: trouble_of(member, by_name) for member in members}


async def _notes(hub: Client, namespace: str) -> dict[str, str]:
    fields = f"reportingController={COMPONENT},regarding.kind={kueue.Workload.resource.kind}"
    try:
        return last_notes((await hub.list(Event.resource, namespace, fields=fields)).items)
    except errors.Forbidden:
        return {}  # the objects themselves still say how far each job has come


async def _silence(hub: Client) -> str:
    """The chart gives the lease the name and namespace of its release, so it is known by its label.

    Who may not list leases sees the one of the usual name; that there is none tells nothing then.
    """
    labelled: list[Lease] | None
    try:
        page = await hub.list(Lease.resource, labels=LABELLED_OURS)
        labelled = [Lease.view(raw) for raw in page.items]
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


def _is_ours(check: kueue.AdmissionCheck | None) -> bool:
    return check is not None and check.spec.controller_name == CHECK_CONTROLLER


def _time(event: Manifest) -> str:
    return str(event.get("eventTime") or "")

"""When a cluster that does not answer counts as stopped: the hub's half of the fence.

Reads:   the Lease of each agent: followed, and live before anything is concluded
Writes:  a mark on it, before a job is started elsewhere

What an agent promised, it counts from when it sent a renewal; here it is counted from when that renewal was first
seen, on our own clock, so that our time is over later whatever the clocks show. A new leader counts from its first
look. The Lease is read again at the end: one that was renewed meanwhile makes us wait longer, and so does one that is
renewed while it is marked. An agent whose renewal comes after the mark finds the mark in the answer.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fence import LEASE, PASSED, FenceLease, sent_to
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.past_clusters import PastClusters
from fleetqueue.runtime.logs import Log

DRIFT: Final = 0.02
"""By how much of the time two clocks may differ in what they count; those of real machines differ by a thousandth of
it."""
RENEWING: Final = 1 / 3
"""Of a Lease's time; an agent renews it twice as often, so that a renewal which is older than that was missed."""
KNOWN_SECONDS: Final = 5.0
"""How long a Lease that was read counts as known when jobs are sent: a thousand of them are sent at once."""

log = Log("fences")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A Lease as it was read last."""

    lease: FenceLease
    read: float
    """When it was read live; long ago where it was only followed."""
    since: float
    """When this renewal of it was first seen."""
    seen: datetime
    """The same by the wall clock, for people."""


def silence_needed(duration: float, grace: float, slack: float) -> float:
    """Return for how long no renewal must be seen until what was promised is surely done.

    `duration` is the Lease's own, `grace` what the job's pods may take to stop, `slack` what the agent may take.
    """
    return (duration + grace + slack) * (1 + DRIFT)


class Fences:
    def __init__(self, objects: HubObjects, past_clusters: PastClusters) -> None:
        self._objects = objects
        self._past_clusters = past_clusters
        self._client = objects.hub.client
        self._sightings: dict[str, Sighting] = {}
        objects.hub.informer(Lease, fields=f"metadata.name={LEASE}").subscribe(self._follow)

    async def trusted(self, member: str, config: str) -> str:
        """Return the uid of the Lease in trust of which a job may be sent to a member now; empty where none is kept."""
        cluster = self._objects.cluster_behind(member, config)
        known = self._sightings.get(cluster)
        if known is None or clock.monotonic() - known.read >= KNOWN_SECONDS:
            known = await self._look(cluster)
        return known.lease.uid if known is not None and known.lease.is_fresh(clock.now()) else ""

    async def seconds_left(self, workload: kueue.Workload, member: str, config: str) -> float | None:
        """Return in how many seconds a Workload counts as stopped on a silent member; None where nobody promised that.

        At 0 the Lease has been marked, so that its agent learns of it with its next renewal. May raise Conflict where
        the agent was faster.
        """
        uid = (sent_to(workload) or {}).get(member)
        sighting = await self._look(self._objects.cluster_behind(member, config)) if uid else None
        if sighting is None or sighting.lease.uid != uid:
            return None
        left = self._done(workload, sighting) - clock.monotonic()
        if left <= 0 and not sighting.lease.is_passed:
            await self._mark(sighting.lease.lease)
        return max(0.0, left)

    def until(self, workload: kueue.Workload, member: str, config: str) -> datetime | None:
        """Return when a Workload counts as stopped on a silent member, for people; None while its agent renews."""
        sighting = self._sightings.get(self._objects.cluster_behind(member, config))
        if sighting is None or clock.monotonic() - sighting.since < sighting.lease.duration * RENEWING:
            return None
        return sighting.seen + timedelta(seconds=self._done(workload, sighting) - sighting.since)

    def _done(self, workload: kueue.Workload, sighting: Sighting) -> float:
        """Return when what was promised for a Workload is surely done.

        A copy that Kueue brings when the Lease has run out already is stopped as soon as its agent finds it, so it also
        counts from when Kueue brings no further one. While Kueue still may, only the Lease counts, and the Workload
        must be taken back before it is sent elsewhere.
        """
        grace, slack = workload.termination_grace, self._objects.settings.fence_slack
        expired = sighting.since + silence_needed(sighting.lease.duration, grace, slack)
        settled = self._past_clusters.settled(workload)
        return expired if settled is None else max(expired, settled + silence_needed(0.0, grace, slack))

    async def _look(self, cluster: str) -> Sighting | None:
        """Read a Lease as it is now; None where there is none, or nobody knows which cluster it is."""
        if not cluster:
            return None
        try:
            raw = await self._client.find(Lease.resource, LEASE, cluster)
        except errors.Forbidden as error:
            log.warning("Lease not read", cluster=cluster, error=error)
            raw = None
        if raw is None:
            self._sightings.pop(cluster, None)
            return None
        return self._see(cluster, FenceLease.read(raw), read=clock.monotonic())

    def _follow(self, old: Lease | None, new: Lease | None) -> None:
        if new is not None:
            self._see(new.namespace, FenceLease(new), read=-inf)
        elif old is not None:
            self._sightings.pop(old.namespace, None)

    def _see(self, cluster: str, lease: FenceLease, *, read: float) -> Sighting:
        last = self._sightings.get(cluster)
        if last is not None and (last.lease.uid, last.lease.renewal) == (lease.uid, lease.renewal):
            sighting = Sighting(lease, read, last.since, last.seen)
        else:
            sighting = Sighting(lease, read, clock.monotonic(), clock.now())
        self._sightings[cluster] = sighting
        return sighting

    async def _mark(self, lease: Lease) -> None:
        patch = {"metadata": {**lease.precondition, "annotations": {PASSED: timestamp(clock.now())}}}
        await self._client.merge(lease.resource, lease.name, lease.namespace, patch)
        log.warning("jobs may go elsewhere", cluster=lease.namespace)

"""When a Workload may be nominated for another cluster: not while it may run, or be about to arrive, on one.

Reads: Workload, MultiKueueConfig, MultiKueueCluster, and the copies on workers
"""

from datetime import UTC, datetime
from math import inf
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.controllers.placement_admission.copies import Copies, WaitsForCluster
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.workers import Workers

REMOVAL_SECONDS: Final = 1.0
"""Between two looks at a copy that Kueue is about to remove; it needs about two seconds."""
ARRIVAL_SECONDS: Final = 5.0
"""Kueue may be bringing a copy while its Workload is taken back: it sends a worker five requests a second. For so long
no other cluster is nominated, and it is looked for where it may arrive."""
OVERLOOKED_SECONDS: Final = 10.0
"""A copy that is there for so long after its Workload has got quota again is not removed any more. While a Workload is
on no cluster, those that it has been on are asked so often."""
PODS_SECONDS: Final = 5.0
"""Beyond the time that pods ask for to stop: garbage collection and kubelets need some."""
KUEUE_PATIENCE: Final = 5
"""How many nomination timeouts a copy may be on its way. Kueue asks each worker at most five times a second, so that a
burst of jobs takes minutes; but a namespace that is missing there would hold a job up for ever."""
READING_SECONDS: Final = 0.2
"""Between two looks at whether a worker has told its queues, just after it was dialled."""


class SecondNomination:
    def __init__(self, objects: HubObjects, workers: Workers, copies: Copies) -> None:
        self._objects = objects
        self._settings = objects.settings
        self._workers = workers
        self._copies = copies
        self._nominated: dict[str, tuple[str, float]] = {}
        """When each Workload (key, with uid) that is on no cluster yet got its last nomination, as far as is known."""
        self._gone: dict[str, tuple[str, dict[str, float]]] = {}
        """When the copies of each such Workload that must not run twice were first seen to have gone, by member."""

    def note(self, workload: kueue.Workload) -> None:
        """Note that a Workload was nominated now: from here on copies and pods of it come, and may go again."""
        self._nominated[workload.key] = (workload.uid, clock.monotonic())
        self._gone.pop(workload.key, None)

    def forget(self, key: str) -> None:
        """Forget a Workload that is gone, or on a cluster."""
        self._nominated.pop(key, None)
        self._gone.pop(key, None)

    async def wait_until_safe(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str]:
        """Raise RetryLater until a nomination is due, and cannot start what may run already.

        Returns the nominated members to which Kueue has brought no copy, although it had time.
        """
        missing = []
        nominated = workload.status.nominated_cluster_names
        timeout = self._settings.nomination_timeout
        since = self._nominated_at(workload) if nominated else -inf
        # A deadline less the time is exact where a time less an age is not, and would come back a little too early.
        if (left := since + timeout - clock.monotonic()) > 0:
            again_in = min(left, OVERLOOKED_SECONDS) if self._past(workload, config) else left
            raise errors.RetryLater(again_in, "nominated clusters have time to admit it")
        for member in nominated:
            copy = await self._copies.ask(workload, member, config)
            if copy is not None and copy.is_admitted:
                note = f"{member} has admitted it; Kueue is about to record that"
                raise errors.RetryLater(self._settings.settle, note)
            is_coming = (
                copy is None
                and self._objects.is_connected(member)
                and not await self._copies.is_given_up(workload, member, config)
            )
            if is_coming and clock.monotonic() < since + timeout * KUEUE_PATIENCE:
                note = f"Kueue has not brought it to {member} yet; a further cluster would only make it slower"
                raise errors.RetryLater(timeout, note)
            if is_coming:
                missing.append(member)
        return missing

    def wait_for_queues(self, config: kueue.MultiKueueConfig) -> None:
        """Raise RetryLater while a worker is about to tell its queues: without them, any job seems to have a place."""
        for member in config.spec.clusters:
            if self._objects.is_connected(member) and self._workers.is_being_read(self._objects.kubeconfig_of(member)):
                raise errors.RetryLater(READING_SECONDS, f"the queues of {member} are being read")

    async def overlooked(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> str:
        """Return a cluster that a Workload has been on, and that has its copy for good; empty where none has.

        Kueue removes the copies of a Workload that it sees without quota. Often it has quota again before Kueue looks,
        and a copy stays, or arrives. Raises RetryLater while it may be removed, or one may arrive.
        """
        past, since = self._past(workload, config), _quota_since(workload)
        for member in past:
            copy = await self._copies.ask(workload, member, config)
            if copy is None:
                self._wait_for_pods(workload, member)
                continue
            has_arrived = copy.created is not None and copy.created > since
            is_usable = member in config.spec.clusters and self._objects.is_connected(member)
            if is_usable and (has_arrived or _age(since) >= OVERLOOKED_SECONDS):
                return member
            note = f"its copy on {member} must be removed, or end, before it is started elsewhere"
            await self._objects.hub.events.normal(workload, "WaitingForCluster", note)
            lasting = "" if self._copies.policies.is_rerun(workload) else note
            raise WaitsForCluster(REMOVAL_SECONDS, note, lasting=lasting)
        if past and not workload.status.nominated_cluster_names and _age(since) < ARRIVAL_SECONDS:
            raise errors.RetryLater(REMOVAL_SECONDS, f"Kueue may be bringing its copy to {', '.join(past)}")
        return ""

    def _wait_for_pods(self, workload: kueue.Workload, member: str) -> None:
        """Raise WaitsForCluster while pods of a job that must not run twice may be stopping, after its copy has gone.

        A cluster that does not answer was waited for long enough.
        """
        if self._copies.policies.is_rerun(workload) or self._copies.silent_members.is_silent(member):
            return
        uid, gone = self._gone.setdefault(workload.key, (workload.uid, {}))
        if uid != workload.uid:
            self._gone[workload.key] = (workload.uid, gone := {})
        left = (
            gone.setdefault(member, clock.monotonic()) + workload.termination_grace + PODS_SECONDS - clock.monotonic()
        )
        if left > 0:
            note = f"its pods on {member} may still be stopping"
            raise WaitsForCluster(left, note, lasting=note)

    def _past(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str]:
        """Return the clusters, not nominated now, that may have a copy from before.

        Once others are nominated, only those to which Kueue is connected: elsewhere it could bring and record none.
        """
        nominated = workload.status.nominated_cluster_names
        past = self._copies.past(workload, config)
        return [m for m in past if m not in nominated and (not nominated or self._objects.is_connected(m))]

    def _nominated_at(self, workload: kueue.Workload) -> float:
        """Return when a Workload got its last nomination; after a restart its time begins anew."""
        uid, since = self._nominated.get(workload.key, ("", 0.0))
        if uid != workload.uid:
            since = clock.monotonic()
            self._nominated[workload.key] = (workload.uid, since)
        return since


def _quota_since(workload: kueue.Workload) -> datetime:
    """Return when a Workload got its quota."""
    reserved = find(workload.status.conditions, kueue.QUOTA_RESERVED)
    since = reserved.last_transition_time if reserved is not None else None
    return since or datetime.min.replace(tzinfo=UTC)


def _age(since: datetime) -> float:
    return (clock.now() - since).total_seconds()

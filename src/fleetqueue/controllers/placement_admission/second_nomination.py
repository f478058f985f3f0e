"""When a Workload may be nominated for another cluster: not while it may run, or be about to arrive, on one.

Reads: Workload, MultiKueueConfig, MultiKueueCluster, and the copies on workers
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.copies import Copies, WaitsForCluster
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.refused_jobs import KUEUE_PATIENCE, Admission, RefusedJob, admission_of
from fleetqueue.controllers.placement_admission.workers import Workers, WorkloadCopy

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
READING_SECONDS: Final = 0.2
"""Between two looks at whether a worker has told its queues, just after it was dialled."""


@dataclass(slots=True)
class Stuck:
    """What has become of nominations that had their time."""

    missing: list[str] = field(default_factory=list)
    """The members to which Kueue has brought no copy."""
    refused: RefusedJob | None = None


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
        self._jobless: dict[str, tuple[str, dict[str, float]]] = {}
        """When copies of each Workload on no cluster were first seen admitted and without a job, by member."""

    def note(self, workload: kueue.Workload) -> None:
        """Note that a Workload was nominated now: from here on copies and pods of it come, and may go again."""
        self._nominated[workload.key] = (workload.uid, clock.monotonic())
        self._gone.pop(workload.key, None)
        self._jobless.pop(workload.key, None)

    def forget(self, key: str) -> None:
        """Forget a Workload that is gone, or on a cluster."""
        self._nominated.pop(key, None)
        self._gone.pop(key, None)
        self._jobless.pop(key, None)

    async def wait_until_safe(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> Stuck:
        """Raise RetryLater until a nomination is due, and cannot start what may run already."""
        stuck = Stuck()
        nominated = workload.status.nominated_cluster_names
        timeout = self._settings.nomination_timeout
        since = self._nominated_at(workload) if nominated else -inf
        # A deadline less the time is exact where a time less an age is not, and would come back a little too early.
        if (left := since + timeout - clock.monotonic()) > 0:
            again_in = min(left, OVERLOOKED_SECONDS) if self._past(workload, config) else left
            raise errors.RetryLater(again_in, "nominated clusters have time to admit it")
        for member in nominated:
            copy = await self._copies.ask(workload, member, config)
            if refused := await self._refused(workload, member, copy, since):
                stuck.refused = refused
                continue
            is_coming = (
                copy is None
                and self._objects.is_connected(member)
                and not await self._copies.is_given_up(workload, member, config)
            )
            if is_coming and clock.monotonic() < since + timeout * KUEUE_PATIENCE:
                note = f"Kueue has not brought it to {member} yet; a further cluster would only make it slower"
                raise errors.RetryLater(timeout, note)
            if is_coming:
                stuck.missing.append(member)
        return stuck

    async def _refused(
        self, workload: kueue.Workload, member: str, copy: WorkloadCopy | None, nominated: float
    ) -> RefusedJob | None:
        """Tell that a member has admitted a Workload and refuses its job; raises RetryLater while it may come."""
        now, timeout = clock.monotonic(), self._settings.nomination_timeout
        admission = admission_of(
            copy,
            is_connected=self._objects.is_connected(member),
            seen_for=now - self._jobless_since(workload, member, copy),
            nominated_for=now - nominated,
            timeout=timeout,
        )
        if copy is None or admission is Admission.OPEN:
            return None
        if admission is Admission.BEING_RECORDED:
            note = f"{member} has admitted it; Kueue is about to record that"
            raise errors.RetryLater(self._settings.settle, note)
        note = messages.job_not_created(member, copy.admitted)
        if admission is Admission.REFUSED:
            return RefusedJob(member, note)
        await self._objects.hub.events.warning(workload, "WaitingForCluster", note)
        raise errors.RetryLater(self._settings.settle, note)

    def _jobless_since(self, workload: kueue.Workload, member: str, copy: WorkloadCopy | None) -> float:
        """Return when a copy was first seen admitted and without a job; now where it is not so."""
        uid, seen = self._jobless.setdefault(workload.key, (workload.uid, {}))
        if uid != workload.uid:
            self._jobless[workload.key] = (workload.uid, seen := {})
        if copy is None or not copy.is_admitted or copy.has_job:
            seen.pop(member, None)
            return clock.monotonic()
        return seen.setdefault(member, clock.monotonic())

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
        copies = {member: await self._copies.ask(workload, member, config) for member in past}
        await self._wait_for_pods(workload, [member for member, copy in copies.items() if copy is None])
        for member, copy in copies.items():
            if copy is None:
                continue
            has_arrived = copy.created is not None and copy.created > since
            is_usable = member in config.spec.clusters and self._objects.is_connected(member)
            if is_usable and (has_arrived or _age(since) >= OVERLOOKED_SECONDS):
                return member
            note = messages.copy_must_go(member)
            await self._objects.hub.events.normal(workload, "WaitingForCluster", note)
            lasting = "" if self._copies.policies.is_rerun(workload) else note
            raise WaitsForCluster(REMOVAL_SECONDS, note, lasting=lasting)
        if past and not workload.status.nominated_cluster_names and _age(since) < ARRIVAL_SECONDS:
            raise errors.RetryLater(REMOVAL_SECONDS, f"Kueue may be bringing its copy to {', '.join(past)}")
        return ""

    async def _wait_for_pods(self, workload: kueue.Workload, members: Sequence[str]) -> None:
        """Raise WaitsForCluster while pods of a job that must not run twice may be stopping, its copies being gone.

        A cluster that does not answer was waited for long enough.
        """
        if self._copies.policies.is_rerun(workload):
            return
        uid, gone = self._gone.setdefault(workload.key, (workload.uid, {}))
        if uid != workload.uid:
            self._gone[workload.key] = (workload.uid, gone := {})
        now, seconds = clock.monotonic(), workload.termination_grace + PODS_SECONDS
        answering = [member for member in members if not self._copies.silent_members.is_silent(member)]
        left = {member: gone.setdefault(member, now) + seconds - now for member in answering}
        if stopping := [member for member in answering if left[member] > 0]:
            note = messages.pods_are_stopping(stopping)
            await self._objects.hub.events.normal(workload, "WaitingForCluster", note)
            raise WaitsForCluster(min(left[member] for member in stopping), note, lasting=note)

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

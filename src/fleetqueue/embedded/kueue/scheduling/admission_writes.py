"""Write what a cycle decided: admissions, preemptions, and why a Workload still waits.

Writes: Workload status (as `kueue-admission`), Events
"""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.embedded.kueue.scheduling.amounts import all_written
from fleetqueue.embedded.kueue.scheduling.assignment import Assignment, PartAssignment
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.cycle import SchedulingEntry
from fleetqueue.embedded.kueue.scheduling.pending_queue import Requeue
from fleetqueue.embedded.kueue.scheduling.preemption import PreemptionTarget
from fleetqueue.embedded.kueue.scheduling.readiness import required_checks
from fleetqueue.embedded.kueue.scheduling.workload_info import PodSetResources, WorkloadInfo, queued_seconds
from fleetqueue.rules.workload_admission import applied, applied_over
from fleetqueue.rules.workload_slices import REPLACED
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import apply_admission

# What people read about admissions and preemptions; worded as Kueue words it.

UNKNOWN = "UNKNOWN"
NODE_FAILURES: Final = "NodeFailures"
RIGHTS = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}


def quota_reserved(cluster_queue: str, waited: float, considered: str) -> str:
    message = f"Quota reserved in ClusterQueue {cluster_queue}, wait time since queued was {waited:.0f}s"
    return f"{message}; Flavors considered: {considered}" if considered else message


def admitted(cluster_queue: str) -> str:
    return f"Admitted by ClusterQueue {cluster_queue}, wait time since reservation was 0s"


def replaced(by: WorkloadInfo) -> str:
    job = by.view.metadata.labels.get(kueue.JOB_UID_LABEL, "")
    return f"Replaced to accommodate a workload (UID: {by.view.uid}, JobUID: {job}) due to workload slice aggregation"


def preempted(preemptor: WorkloadInfo, path: str, target: PreemptionTarget) -> str:
    job = preemptor.view.metadata.labels.get(kueue.JOB_UID_LABEL) or UNKNOWN
    return (
        f"Preempted to accommodate a workload (UID: {preemptor.view.uid or UNKNOWN}, JobUID: {job}) "
        f"due to {RIGHTS[target.reason]}; preemptor path: {path}; preemptee path: {target.candidate.queue.path}"
    )


def preempted_whom(preemptor: WorkloadInfo, target: PreemptionTarget) -> str:
    """Tell the preemptor of its victim."""
    victim = target.candidate.work
    message = f"Preempted workload {victim.key} (UID: {victim.view.uid}) in ClusterQueue {victim.cluster_queue}"
    return f"{message}; {priorities(preemptor, victim)}"


def priorities(preemptor: WorkloadInfo, victim: WorkloadInfo) -> str:
    return f"preemptor {_priority(preemptor)}; preemptee {_priority(victim)}"


def no_replacement(nodes: Sequence[str]) -> str:
    return f"Workload was evicted as there was no replacement for unhealthy node(s): {','.join(nodes)}"


def waits_for(preempted: int, failed: int) -> str:
    """Tell, after why a Workload waits, what becomes of those that it preempts."""
    if preempted:
        return f". Pending the preemption of {preempted} workload(s)"
    return f". Preempting {failed} workload(s) failed, will retry."


def _priority(work: WorkloadInfo) -> str:
    return f"effective priority: {work.priority} (base: {work.priority}, boost: 0)"


AT_ONCE: Final = 32
"""Admissions that are written at a time; more only wait for each other at the server."""
PREEMPTIONS_AT_ONCE: Final = 8
FIRST_DELAY, LAST_DELAY = 0.05, 1.0
"""Seconds for which a Workload keeps its quota after its admission could not be written: who tries again at once, would
do so as fast as the server can refuse."""

log = Log("kueue")


class IssuedPreemptions(NamedTuple):
    """What came of preempting."""

    now: int
    """How many were asked to go just now; others knew already."""
    problem: Exception | None


class Writer:
    def __init__(self, hub: Cluster, cache: Cache, metrics: KueueMetrics) -> None:
        self._hub = hub
        self._cache = cache
        self._metrics = metrics
        self._events = SeriesRecorder(hub.client, kueue.ADMISSION_MANAGER)
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._preempting_turns = asyncio.Semaphore(PREEMPTIONS_AT_ONCE)
        self._failures: dict[str, int] = {}

    def assume(self, entry: SchedulingEntry) -> None:
        """Count what is about to be written, before anybody else is looked at."""
        assert entry.assignment is not None
        parts = [_held(part) for part in entry.assignment.parts]
        work = entry.work
        given = WorkloadInfo(work.view, work.cluster_queue, parts, work.pod_sets, work.shape, work.since)
        self._cache.assume(given, is_admitted=self._is_admitted(entry))
        self._cache.charge(work)

    async def ready(self) -> None:
        """Wait while as many admissions are being written as may be at once; and always let others have their turn."""
        await asyncio.sleep(0)
        async with self._turns:
            pass

    async def admit(self, entry: SchedulingEntry) -> None:
        """Write an admission that is assumed; where that fails, take the assumption back."""
        async with self._turns:
            problem = await self._try_to_admit(entry)
        if problem is not None:
            await self._take_back(entry, problem)

    async def preempt(self, entry: SchedulingEntry) -> IssuedPreemptions:
        """Evict those for whom a head waits, and note with it what came of that."""
        results = await asyncio.gather(*(self._preempt(entry, target) for target in entry.targets))
        problems = [result for result in results if isinstance(result, Exception)]
        preempted = len(results) - len(problems)
        entry.message += waits_for(preempted, len(problems))
        if not preempted:
            entry.why = Requeue.PREEMPTION_FAILED
        entry.work.tried = None
        return IssuedPreemptions(sum(result is True for result in results), problems[0] if problems else None)

    async def say_why(self, entry: SchedulingEntry) -> None:
        """Tell a Workload why it waits, if it does not say so already."""
        raw = self._raw(entry.work)
        if raw is None:
            return
        status = admission_status.pending(raw, entry.message, _requests(entry.work), clock.now())
        if status is not None:
            await self._apply(raw, status)
            await self._events.warning(entry.work.view, kueue.PENDING, entry.message)
            log.info("waits", workload=entry.work.key, queue=entry.work.cluster_queue, why=entry.message)

    async def evict_for_failed_nodes(self, entry: SchedulingEntry) -> None:
        """Evict a Workload whose pods were on nodes that failed, and for which there are no others."""
        view, raw = entry.work.view, self._raw(entry.work)
        if raw is None:
            return
        message = no_replacement([node.name for node in view.status.unhealthy_nodes])
        status = admission_status.evicted(raw, NODE_FAILURES, message, clock.now())
        try:
            await self._apply(raw, status)
        except (errors.ApiError, errors.Unreachable):
            self._cache.looked_again(entry.work)
            raise
        is_first = admission_status.is_first_eviction(status, NODE_FAILURES)
        why = (NODE_FAILURES, "")
        self._metrics.evicted(view, entry.work.cluster_queue, why, clock.now(), is_first=is_first)
        log.info("evicted", workload=entry.work.key, why=message)
        await self._events.normal(view, f"{kueue.EVICTED}DueTo{NODE_FAILURES}", message)

    async def say_second_pass_failed(self, entry: SchedulingEntry) -> None:
        """Tell a Workload that holds quota why its pods are still not placed."""
        log.info("second pass failed", workload=entry.work.key, why=entry.message)
        await self._events.warning(entry.work.view, "SecondPassFailed", entry.message)

    async def say_blocked(self, entry: SchedulingEntry) -> None:
        """Tell a Workload that fits that it waits for the pods of others, if it does not say so already."""
        raw = self._raw(entry.work)
        status = admission_status.blocked(raw, clock.now()) if raw is not None else None
        if raw is None or status is None:
            return
        try:
            await self._apply(raw, status)
        except (errors.ApiError, errors.Unreachable) as error:
            log.warning("not said why it waits", workload=entry.work.key, error=error)
            return
        log.info("waits for the pods of others", workload=entry.work.key, queue=entry.work.cluster_queue)

    async def _try_to_admit(self, entry: SchedulingEntry) -> Exception | None:
        try:
            await self._admit(entry)
        except errors.NotFound:
            self._failures.pop(entry.work.key, None)
            self._cache.forget(entry.work.key)
        except (errors.ApiError, errors.Unreachable) as error:
            return error
        except Exception as error:  # a defect of ours must not keep the quota taken
            log.exception("admission failed", workload=entry.work.key)
            return error
        return None

    async def _admit(self, entry: SchedulingEntry) -> None:
        work, assignment = entry.work, entry.assignment
        raw = self._raw(work)
        if raw is None or assignment is None:
            self._cache.forget(work.key)
            return
        given = [part.manifest for part in assignment.parts]
        admission = admission_status.admission(raw, work.cluster_queue, given)
        is_admitted = self._is_admitted(entry)
        status = admission_status.reserved(raw, admission, is_admitted=is_admitted, now=clock.now())
        old = self._raw(entry.replaced.candidate.work) if entry.replaced is not None else None
        if old is not None:
            status = admission_status.on_cluster_of(status, old)
        written = await self._apply(raw, status)
        self._failures.pop(work.key, None)
        self._cache.confirm(work.key, written["metadata"]["resourceVersion"])
        log.info("quota reserved", workload=work.key, queue=work.cluster_queue, admitted=is_admitted)
        await self._tell_of_admission(entry, assignment, is_admitted=is_admitted)
        if old is not None:
            await self._finish_replaced(entry, old)

    async def _tell_of_admission(self, entry: SchedulingEntry, assignment: Assignment, *, is_admitted: bool) -> None:
        view, name, now = entry.work.view, entry.work.cluster_queue, clock.now()
        if not view.is_true(kueue.QUOTA_RESERVED):
            self._metrics.quota_reserved(view, name, now)
            note = quota_reserved(name, queued_seconds(view, now), assignment.considered)
            await self._events.normal(view, admission_status.RESERVED, note)
        if is_admitted and not view.status.unhealthy_nodes:
            self._metrics.admitted(view, name, now, waited_for_checks=0.0 if view.status.admission_checks else None)
            await self._events.normal(view, kueue.ADMITTED, admitted(name))

    async def _finish_replaced(self, entry: SchedulingEntry, old: Manifest) -> None:
        """Finish the slice whose place was taken; where that fails, the job's controller does it."""
        if is_true(old, kueue.FINISHED):
            return
        message, generation = replaced(entry.work), old["metadata"].get("generation", 0)
        status = admission_status.with_condition(
            old["status"], kueue.FINISHED, conditions.TRUE, REPLACED, message, generation, clock.now()
        )
        try:
            await apply_admission(self._hub.client, applied_over(old, status))
        except (errors.ApiError, errors.Unreachable) as error:
            log.warning("replaced slice not finished", workload=old["metadata"]["name"], error=error)
            return
        assert entry.replaced is not None
        work = entry.replaced.candidate.work
        self._metrics.replaced_slice(work.cluster_queue)
        log.info("slice replaced", workload=work.key, by=entry.work.key)
        await self._events.normal(work.view, REPLACED, message, action="Replaced")

    async def _take_back(self, entry: SchedulingEntry, error: Exception) -> None:
        key = entry.work.key
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = clock.jitter(min(FIRST_DELAY * 2 ** min(failures, 8), LAST_DELAY))
        log.warning("quota not reserved", workload=key, error=error, again_in=round(delay, 2))
        await asyncio.sleep(delay)
        self._cache.forget(key)

    async def _preempt(self, entry: SchedulingEntry, target: PreemptionTarget) -> bool | Exception:
        """Evict one; False if that was done before."""
        victim, cache = target.candidate.work, self._cache
        if victim.is_evicted or cache.is_being_preempted(victim):
            return False
        cache.preempt(victim)
        assert entry.queue is not None
        message = preempted(entry.work, entry.queue.path, target)
        try:
            async with self._preempting_turns:
                is_first = await self._write_preemption(victim, target, message)
        except (errors.ApiError, errors.Unreachable) as error:
            cache.spare(victim)
            log.warning("not preempted", workload=victim.key, error=error)
            return error
        why = (kueue.PREEMPTED, "")
        self._metrics.evicted(victim.view, victim.cluster_queue, why, clock.now(), is_first=is_first)
        self._metrics.preempted(entry.work.cluster_queue, target.reason)
        await self._tell_of_preemption(entry.work, target, message)
        return True

    async def _write_preemption(self, victim: WorkloadInfo, target: PreemptionTarget, message: str) -> bool:
        """Write that a Workload is preempted; return whether it never was before."""
        raw = self._raw(victim)
        if raw is None:
            return False
        status = admission_status.preempted(raw, target.reason, message, clock.now())
        await self._apply(raw, status)
        return admission_status.is_first_eviction(status, kueue.PREEMPTED)

    async def _tell_of_preemption(self, preemptor: WorkloadInfo, target: PreemptionTarget, message: str) -> None:
        victim = target.candidate.work
        log.info("preempted", workload=victim.key, for_workload=preemptor.key, reason=target.reason)
        await self._events.normal(victim.view, f"{kueue.EVICTED}DueTo{kueue.PREEMPTED}", message)
        note = f"{message}; {priorities(preemptor, victim)}"
        await self._events.normal(victim.view, kueue.PREEMPTED, note)
        await self._events.normal(preemptor.view, "PreemptedWorkload", preempted_whom(preemptor, target))

    async def _apply(self, raw: Manifest, status: Manifest) -> Manifest:
        """Write over whatever version is there: so does Kueue's scheduler, whose cache is ahead of the API."""
        return await apply_admission(self._hub.client, applied(raw, status))

    def _raw(self, work: WorkloadInfo) -> Manifest | None:
        """Return the object as it was last seen, if it still is the same one."""
        raw = self._hub.informer(kueue.QueuedWorkload).store.raw(work.key)
        return raw if raw is not None and raw["metadata"]["uid"] == work.view.uid else None

    def _is_admitted(self, entry: SchedulingEntry) -> bool:
        """Tell whether nothing but quota was waited for."""
        queue = self._cache.configuration.queues.get(entry.work.cluster_queue)
        assert entry.assignment is not None
        if queue is None:
            return False
        flavors = {given.flavor for part in entry.assignment.parts for given in part.given.values()}
        states = {check.name: check.state for check in entry.work.view.status.admission_checks}
        if any(part.placement is None and part.delayed == kueue.PENDING for part in entry.assignment.parts):
            return False
        has_all = all(name in states for name in required_checks(queue, flavors))
        return has_all and all(state == kueue.READY for state in states.values())


def _held(part: PartAssignment) -> PodSetResources:
    held = {resource: value for resource, value in part.requests.items() if resource in part.given}
    flavors = {resource: given.flavor for resource, given in part.given.items()}
    return PodSetResources(part.name, part.count, held, flavors, part.placement)


def _requests(work: WorkloadInfo) -> Sequence[Manifest]:
    """Return what is asked for, as it is shown while a Workload waits."""
    return [
        {"name": part.name, **({"resources": all_written(part.requests)} if part.requests else {})}
        for part in work.parts
    ]

"""The life of one job and its Workload, as Kueue goes through it: whatever the job is made of.

Mirrors: Kueue pkg/controller/jobframework/reconciler.go (ReconcileGenericJob), interface.go (GenericJob, ComposableJob)
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import (
    NOT_ADMITTED,
    WORKLOAD_DELETED,
    WORKLOAD_EVICTED,
    JobFacts,
    StopCause,
)
from fleetqueue.embedded.kueue.jobs.workload_writes import STARTED, WorkloadWrites, readiness
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.runtime.cluster import Cluster

J = TypeVar("J")


class JobWriter(Protocol[J]):
    def view(self, job: J) -> Object:
        """Return the object in whose name a job's Events are."""
        ...

    async def start(self, job: J, workload: Manifest) -> str:
        """Let a job run with what its Workload was given; return why it never can, or nothing."""
        ...

    async def stop(self, job: J, workload: Manifest | None, cause: StopCause) -> J:
        """Stop a job; return it as it is then."""
        ...

    async def finalize(self, job: J) -> None:
        """Let go of the objects of a job whose Workload is over."""
        ...

    async def delete(self, job: J, why: str) -> None: ...

    async def say(self, job: J, reason: str, note: str) -> None: ...


class Matching(Protocol[J]):
    async def match(self, job: J, owned: Sequence[Manifest]) -> tuple[J, Manifest | None]:
        """Return the job, perhaps stopped, and its Workload if it has one; others are updated or deleted."""
        ...

    async def create(self, job: J) -> Manifest | None:
        """Make the Workload of a job that has none; None where that has to wait."""
        ...

    async def follow_queue(self, job: J, workload: Manifest) -> None:
        """Queue a Workload where its job is queued."""
        ...


class JobLife(Generic[J]):
    def __init__(
        self,
        hub: Cluster,
        settings: KueueSettings,
        facts: JobFacts[J],
        jobs: JobWriter[J],
        matching: Matching[J],
        workloads: WorkloadWrites,
        kueue_metrics: KueueMetrics,
    ) -> None:
        self.hub = hub
        self.settings = settings
        self.facts = facts
        self.jobs = jobs
        self.matching = matching
        self.workloads = workloads
        self.kueue_metrics = kueue_metrics

    async def go_through(self, job: J, owned: Sequence[Manifest]) -> None:
        """Go through what may be to do, as Kueue does: the first thing that is done ends it."""
        job, workload = await self.matching.match(job, owned)
        seen = None if workload is None else self._seen(workload)
        if workload is not None and seen is not None and await self._is_over(job, workload, seen):
            return
        if self.facts.is_on_hold(job):
            if workload is not None and seen is not None and seen.is_true(kueue.QUOTA_RESERVED):
                await self.workloads.put_on_hold(workload)
            return
        ending = self.facts.ending(job)
        if ending is not None:
            if workload is not None:
                await self.workloads.finish(self.jobs.view(job), workload, ending.reason, ending.message)
            await self.jobs.finalize(job)
            return
        if workload is None or seen is None:
            self._count_creation(self.jobs.view(job), await self.matching.create(job))
            return
        if await self._tell_of_pods(job, workload, seen):
            return
        evicted = conditions.find(seen.status.conditions, kueue.EVICTED)
        if evicted is not None and evicted.is_true:
            await self._give_way(job, workload, evicted)
        elif self.facts.is_suspended(job):
            await self._start(job, workload, seen)
        elif not seen.is_true(kueue.ADMITTED) and not self.facts.is_elastic(job):
            await self.jobs.stop(job, workload, StopCause(NOT_ADMITTED, "Not admitted by cluster queue"))

    async def _is_over(self, job: J, workload: Manifest, seen: kueue.Workload) -> bool:
        """Let a Workload go that has finished, or is deleted."""
        if seen.is_finished:
            await self.jobs.finalize(job)
            await self.workloads.let_finished_go(self.jobs.view(job), workload)
            return True
        if "deletionTimestamp" in workload["metadata"]:
            await self.jobs.stop(job, workload, StopCause(WORKLOAD_DELETED, "Workload is deleted"))
            await self.workloads.let_go(workload)
            return True
        return False

    async def _tell_of_pods(self, job: J, workload: Manifest, seen: kueue.Workload) -> bool:
        """Write which pods will not come again, and whether all are ready; return whether anything was written."""
        if await self.workloads.set_reclaimable(workload, self.facts.reclaimable(job)):
            return True
        if self.settings.pods_ready is None:
            return False
        condition = readiness(seen, self.facts.pods_ready(job))
        if condition is None:
            return False
        await self.workloads.set_condition(workload, condition)
        self._count_readiness(seen, condition)
        return True

    def _count_creation(self, job: Object, made: Manifest | None) -> None:
        """Count how long a job was without a Workload, unless it was changed meanwhile."""
        is_counted = self.settings.feature_gates.get("MetricForWorkloadCreationLatency", True)
        since = job.metadata.creation_timestamp
        if is_counted and made is not None and since is not None and job.metadata.generation <= 1:
            seconds = (datetime.fromisoformat(made["metadata"]["creationTimestamp"]) - since).total_seconds()
            self.kueue_metrics.created(job.resource.kind, seconds)

    def _count_readiness(self, workload: kueue.Workload, condition: conditions.Condition) -> None:
        """Count how long it took until all pods were ready; those that are ready again are not counted."""
        admission = workload.status.admission
        if admission is not None and condition.is_true and condition.reason == STARTED:
            self.kueue_metrics.pods_ready(workload, admission.cluster_queue, clock.now())

    async def _give_way(self, job: J, workload: Manifest, evicted: conditions.Condition) -> None:
        """Stop an evicted job; when nothing of it is left, give its quota back."""
        cause = StopCause(f"{WORKLOAD_EVICTED}DueTo{evicted.reason}", evicted.message)
        job = await self.jobs.stop(job, workload, cause)
        if self._seen(workload).is_true(kueue.QUOTA_RESERVED) and not self.facts.is_active(job):
            await self.workloads.release(workload, evicted)
        keep = self.settings.keep_deactivated
        if keep is None or self._seen(workload).spec.active or not evicted.reason.startswith("DeactivatedDueTo"):
            return
        since = evicted.last_transition_time or clock.now()
        left = keep - (clock.now() - since).total_seconds()
        if left > 0:
            raise errors.RetryLater(left, "its job is deleted then")
        await self.jobs.delete(job, "Deleted job: deactivation retention period expired")

    async def _start(self, job: J, workload: Manifest, seen: kueue.Workload) -> None:
        if seen.is_true(kueue.ADMITTED):
            why_not = await self.jobs.start(job, workload)
            if why_not:
                await self.workloads.finish(None, workload, "FailedToStart", why_not)
            return
        if seen.is_true(kueue.QUOTA_RESERVED):
            messages = [f"{c.name}: {c.message}" for c in seen.status.admission_checks if _tells(c)]
            if messages:
                await self.jobs.say(job, "UpdatedAdmissionCheck", "; ".join(messages))
        await self.matching.follow_queue(job, workload)

    def _seen(self, workload: Manifest) -> kueue.Workload:
        """Read a Workload; mostly it is the cached one, which was read already."""
        store = self.hub.cache(kueue.QueuedWorkload)
        key = key_of(workload["metadata"]["namespace"], workload["metadata"]["name"])
        known = store.get(key)
        return known if known is not None and store.raw(key) is workload else kueue.QueuedWorkload.view(workload)


def _tells(check: kueue.CheckState) -> bool:
    return check.state == kueue.PENDING and bool(check.message)

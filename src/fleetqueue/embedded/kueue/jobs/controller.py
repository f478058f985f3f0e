"""Keep the jobs of one kind and their Workloads together: make Workloads, start and stop jobs, tell how they ended.

Reads:   the jobs, Workload, ResourceFlavor, Namespace, the priority classes
Writes:  the jobs (suspension, pod templates; for Jobs also the start in their status), Workload, Events
Mirrors: Kueue pkg/controller/jobframework/reconciler.go

Left out: jobs of several parts (pod groups), elastic jobs, and jobs that are on hold.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import Object, key_of, split_key
from fleetqueue.api.priority_classes import PriorityClass, WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.job_writes import JobWrites
from fleetqueue.embedded.kueue.jobs.workload_matching import WorkloadMatching
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites, readiness
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.workload_state import facts
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.metrics import Metrics

LAG_SECONDS: Final = 1.0
"""The change that we wait for wakes us; this only guards against a watch that broke."""
BY_OWNER: Final = "owner"
"""Workloads by the kind, namespace and name of the job that controls them."""
BY_PREBUILT: Final = "prebuilt workload"
BY_PARENT: Final = "parent"
"""Jobs by the uid of the job that controls them."""


class JobReconciler(Controller):
    concurrency = 4

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        integration: Integration,
        settings: KueueSettings,
        parents: Sequence[type[Object]],
    ) -> None:
        super().__init__(hub, metrics)
        self.name = f"{integration.framework} jobs"
        self.integration = integration
        self.settings = settings
        self.parents = {(kind.resource.api_version, kind.resource.kind): kind for kind in parents}
        self.events = SeriesRecorder(hub.client, f"{integration.framework}-kueue-controller")
        self.workloads = WorkloadWrites(hub, self.events)
        self.jobs = JobWrites(hub, integration, self.events)
        self.matching = WorkloadMatching(hub, integration, settings, self.jobs, self.workloads, self.events)
        hub.informer(kueue.QueuedWorkload).store.add_index(BY_OWNER, _owner)
        store = hub.informer(integration.kind).store
        store.add_index(BY_PREBUILT, _prebuilt)
        store.add_index(BY_PARENT, _parent)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(self.integration.kind).subscribe(self._forget_gone)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(self.integration.kind, by_key)
        yield Watch(kueue.QueuedWorkload, self._jobs_of, facts=facts)
        read: list[type[Any]] = [kueue.ResourceFlavor, Namespace, PriorityClass, WorkloadPriorityClass]
        for kind in (*read, *self.parents.values()):
            if kind is not self.integration.kind:
                yield Watch(kind, _nobody)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        job = self.hub.informer(self.integration.kind).store.raw(key)
        owned = self._owned(namespace, name)
        if job is None or "deletionTimestamp" in job["metadata"]:
            for workload in owned:
                await self.workloads.orphan(workload)
            return
        if self.jobs.is_behind(job):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own write yet")
        if not self._is_managed_namespace(namespace):
            return
        try:
            above = job_fields.managed_ancestor(
                job, self._object, without_queue=self.settings.manages_jobs_without_queue
            )
        except job_fields.TooDeep as error:
            await self.events.warning(self._view(job), "JobNestingTooDeep", str(error))
            raise errors.TerminalError(str(error)) from None
        if not self._is_managed(job, above):
            return
        if above is not None:
            await self._follow_ancestor(job, above)
        else:
            await self._reconcile(job, owned)

    async def _reconcile(self, job: Manifest, owned: Sequence[Manifest]) -> None:
        """Go through what may be to do, as Kueue does: the first thing that is done ends it."""
        job, workload = await self.matching.match(job, owned)
        if workload is not None and await self._is_over(job, workload):
            return
        ending = self.integration.ending(job)
        if ending is not None:
            if workload is not None:
                await self.workloads.finish(self._view(job), workload, ending.reason, ending.message)
            return
        if workload is None:
            await self.matching.create(job)
            return
        if await self._tell_of_pods(job, workload):
            return
        evicted = conditions.find(self._seen(workload).status.conditions, kueue.EVICTED)
        if evicted is not None and evicted.is_true:
            await self._give_way(job, workload, evicted)
        elif self.integration.is_suspended(job):
            await self._start(job, workload)
        elif not self._seen(workload).is_true(kueue.ADMITTED):
            await self.jobs.stop(job, workload, "Not admitted by cluster queue")

    async def _is_over(self, job: Manifest, workload: Manifest) -> bool:
        """Let a Workload go that has finished, or is deleted."""
        if self._seen(workload).is_finished:
            await self.workloads.let_finished_go(self._view(job), workload)
            return True
        if "deletionTimestamp" in workload["metadata"]:
            await self.jobs.stop(job, workload, "Workload is deleted")
            await self.workloads.let_go(workload)
            return True
        return False

    async def _tell_of_pods(self, job: Manifest, workload: Manifest) -> bool:
        """Write which pods will not come again, and whether all are ready; return whether anything was written."""
        if await self.workloads.set_reclaimable(workload, self.integration.reclaimable(job)):
            return True
        if self.settings.pods_ready is None:
            return False
        condition = readiness(self._seen(workload), self.integration.pods_ready(job))
        if condition is None:
            return False
        await self.workloads.set_condition(workload, condition)
        return True

    async def _give_way(self, job: Manifest, workload: Manifest, evicted: conditions.Condition) -> None:
        """Stop an evicted job; when nothing of it is left, give its quota back."""
        job = await self.jobs.stop(job, workload, evicted.message)
        if self._seen(workload).is_true(kueue.QUOTA_RESERVED) and not self.integration.is_active(job):
            await self.workloads.release(workload, evicted)
        keep = self.settings.keep_deactivated
        if keep is None or self._seen(workload).spec.active or not evicted.reason.startswith("DeactivatedDueTo"):
            return
        since = evicted.last_transition_time or clock.now()
        left = keep - (clock.now() - since).total_seconds()
        if left > 0:
            raise errors.RetryLater(left, "its job is deleted then")
        await self.jobs.delete(job, "Deleted job: deactivation retention period expired")

    async def _start(self, job: Manifest, workload: Manifest) -> None:
        view = self._seen(workload)
        if view.is_true(kueue.ADMITTED):
            why_not = await self.jobs.start(job, workload)
            if why_not:
                await self.workloads.finish(None, workload, "FailedToStart", why_not)
            return
        if view.is_true(kueue.QUOTA_RESERVED):
            messages = [f"{c.name}: {c.message}" for c in view.status.admission_checks if _tells(c)]
            if messages:
                await self.events.normal(self._view(job), "UpdatedAdmissionCheck", "; ".join(messages))
        if view.spec.queue_name != job_fields.queue_name(job):
            await self.workloads.change(workload, spec={"queueName": job_fields.queue_name(job) or None})

    async def _follow_ancestor(self, job: Manifest, above: Manifest) -> None:
        """Suspend a job as long as the Workload of the job above it is not admitted."""
        if self.integration.ending(job) is not None or self.integration.is_suspended(job):
            return
        key = _owner_key(above["kind"], above["metadata"]["namespace"], above["metadata"]["name"])
        workloads = [
            workload for workload in self.hub.by_index(kueue.QueuedWorkload, BY_OWNER, key) if not workload.is_finished
        ]
        if not workloads or not workloads[-1].is_true(kueue.ADMITTED):
            await self.jobs.suspend_child(job)

    def _forget_gone(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self.jobs.forget(old.uid)

    # What it asks

    def _is_managed_namespace(self, name: str) -> bool:
        namespace = self.hub.get(Namespace, name)
        return namespace is not None and self.settings.namespaces.matches(namespace.metadata.labels)

    def _is_managed(self, job: Manifest, above: Manifest | None) -> bool:
        if self.settings.manages_jobs_without_queue or job_fields.queue_name(job):
            return True
        return above is not None and bool(job_fields.queue_name(above))

    def _owned(self, namespace: str, name: str) -> list[Manifest]:
        store = self.hub.informer(kueue.QueuedWorkload).store
        key = _owner_key(self.integration.kind.resource.kind, namespace, name)
        return [raw for view in store.by_index(BY_OWNER, key) if (raw := store.raw(view.key)) is not None]

    def _object(self, owner: Manifest, namespace: str) -> Manifest | None:
        kind = self.parents.get((owner["apiVersion"], owner["kind"]))
        if kind is None:
            return None
        raw = self.hub.informer(kind).store.raw(key_of(namespace, owner["name"]))
        return None if raw is None else {"kind": owner["kind"], **raw}

    def _view(self, job: Manifest) -> Object:
        return self.integration.kind.view(job)

    def _seen(self, workload: Manifest) -> kueue.Workload:
        """Read a Workload; mostly it is the cached one, which was read already."""
        store = self.hub.informer(kueue.QueuedWorkload).store
        key = key_of(workload["metadata"]["namespace"], workload["metadata"]["name"])
        known = store.get(key)
        return known if known is not None and store.raw(key) is workload else kueue.QueuedWorkload.view(workload)

    def _jobs_of(self, workload: kueue.QueuedWorkload) -> Iterable[str]:
        """Wake the job of a Workload, who waits for it by its name, and the jobs below."""
        owner, resource = workload.owner, self.integration.kind.resource
        if owner is not None and (owner.api_version, owner.kind) == (resource.api_version, resource.kind):
            yield key_of(workload.namespace, owner.name)
        for job in self.hub.by_index(self.integration.kind, BY_PREBUILT, workload.key):
            yield job.key
        if owner is not None:
            for job in self.hub.by_index(self.integration.kind, BY_PARENT, owner.uid):
                yield job.key


def _nobody(obj: Object) -> Iterable[str]:
    """Wake nobody: who could not go on without it tries again by itself."""
    return ()


def _tells(check: kueue.CheckState) -> bool:
    return check.state == kueue.PENDING and bool(check.message)


def _owner(workload: kueue.QueuedWorkload) -> Iterable[str]:
    if workload.owner is not None:
        yield _owner_key(workload.owner.kind, workload.namespace, workload.owner.name)


def _owner_key(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}"


def _prebuilt(job: Object) -> Iterable[str]:
    name = job.metadata.annotations.get(kueue.PREBUILT_WORKLOAD) or job.metadata.labels.get(kueue.PREBUILT_WORKLOAD)
    if name:
        yield key_of(job.namespace, name)


def _parent(job: Object) -> Iterable[str]:
    return [owner.uid for owner in job.metadata.owner_references if owner.controller]

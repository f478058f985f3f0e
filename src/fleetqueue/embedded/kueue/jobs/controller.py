"""Keep the jobs of one kind and their Workloads together: make Workloads, start and stop jobs, tell how they ended.

Reads:   the jobs, Workload, ResourceFlavor, Namespace, the priority classes
Writes:  the jobs (suspension, pod templates; for Jobs also the start in their status), Workload, Events
Mirrors: Kueue pkg/controller/jobframework/reconciler.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import Object, OwnerReference, key_of, split_key
from fleetqueue.api.priority_classes import PriorityClass, WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.ancestors import Ancestors
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.jobs.job_writes import JobWrites
from fleetqueue.embedded.kueue.jobs.jobs_of_workloads import JobsOfWorkloads
from fleetqueue.embedded.kueue.jobs.life import JobLife
from fleetqueue.embedded.kueue.jobs.owned_workloads import OwnedWorkloads, owner_key
from fleetqueue.embedded.kueue.jobs.workload_matching import WorkloadMatching
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.rules.workload_slices import is_elastic, not_finished
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.metrics import Metrics

LAG_SECONDS: Final = 1.0
"""The change that we wait for wakes us; this only guards against a watch that broke."""


class JobReconciler(Controller):
    concurrency = 4

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        integration: Integration,
        settings: KueueSettings,
        ancestors: Ancestors,
        jobs_of_workloads: JobsOfWorkloads,
        kueue_metrics: KueueMetrics,
    ) -> None:
        super().__init__(hub, metrics)
        self.name = f"{integration.framework} jobs"
        self.integration = integration = integration.looking_up(self._raw)
        self.settings = settings
        self.ancestors = ancestors
        self.jobs_of_workloads = jobs_of_workloads
        self.events = SeriesRecorder(hub.client, f"{integration.framework}-kueue-controller")
        self.workloads = WorkloadWrites(hub, self.events)
        self.jobs = JobWrites(hub, integration, self.events)
        matching = WorkloadMatching(hub, integration, settings, self.jobs, self.workloads, self.events)
        self.life = JobLife(hub, settings, integration, self.jobs, matching, self.workloads, kueue_metrics)
        self.owned = OwnedWorkloads(hub, integration.kind)
        self.store = hub.informer(integration.kind).store

    def subscribe(self) -> None:
        super().subscribe()
        self.jobs_of_workloads.add(self.integration.kind, self.wake)
        self.hub.informer(self.integration.kind).subscribe(self._forget_gone)

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(self.integration.kind, by_key)
        yield from (Watch(kind, self._maker) for kind in self.integration.makes)
        read: list[type[Any]] = [kueue.QueuedWorkload, kueue.ResourceFlavor]
        read += [Namespace, PriorityClass, WorkloadPriorityClass]
        for kind in (*read, *self.integration.reads):
            yield Watch(kind)  # who could not go on without one tries again by itself
        yield from self.ancestors.watches(besides=self.integration.kind)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        job = self.store.raw(key)
        owned = self.owned.of(namespace, name)
        if job is None or "deletionTimestamp" in job["metadata"]:
            for workload in owned:
                await self.workloads.orphan(workload)
            return
        if self.integration.skips(job):
            return
        if self.jobs.is_behind(job):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own write yet")
        if not self._is_managed_namespace(namespace):
            return
        try:
            above = self.ancestors.of(job)
        except job_fields.TooDeep as error:
            await self.events.warning(self.jobs.view(job), "JobNestingTooDeep", str(error))
            raise errors.TerminalError(str(error)) from None
        if not self._is_managed(job, above):
            return
        if above is not None:
            await self._follow_ancestor(job, above)
        else:
            if not job_fields.prebuilt_workload(job):
                job = await self.jobs.annotate(job)
            await self.life.go_through(job, owned)

    async def _follow_ancestor(self, job: Manifest, above: Manifest) -> None:
        """Suspend a job as long as the Workload of the job above it is not admitted.

        One below an object that somebody else manages runs on: Kueue 0.19.2 has no index to find Workloads of such.
        """
        if self.integration.ending(job) is not None or self.integration.is_suspended(job):
            return
        if self.ancestors.is_external(above):
            return
        key = owner_key(above["kind"], above["metadata"]["namespace"], above["metadata"]["name"])
        live = not_finished(self.owned.by_key(key))
        if live and (is_elastic(job) or is_elastic(above)):
            may_run = not is_true(live[-1], kueue.EVICTED)  # while slices change places none is admitted
        else:
            may_run = bool(live) and is_true(live[-1], kueue.ADMITTED)
        if not may_run:
            await self.jobs.suspend_child(job)

    def _forget_gone(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self.jobs.forget(old.uid)

    def _maker(self, made: Object) -> Iterable[str]:
        """Return the job that made an object."""
        owner = made.controller
        return [key_of(made.namespace, owner.name)] if owner is not None and self._is_of_kind(owner) else []

    # What it asks

    def _is_of_kind(self, owner: OwnerReference) -> bool:
        resource = self.integration.kind.resource
        return (owner.api_version, owner.kind) == (resource.api_version, resource.kind)

    def _is_managed_namespace(self, name: str) -> bool:
        namespace = self.hub.get(Namespace, name)
        return namespace is not None and self.settings.namespaces.matches(namespace.metadata.labels)

    def _is_managed(self, job: Manifest, above: Manifest | None) -> bool:
        if self.settings.manages_jobs_without_queue or job_fields.queue_name(job):
            return True
        return above is not None and bool(job_fields.queue_name(above))

    def _raw(self, kind: type[Object], name: str, namespace: str) -> Manifest | None:
        return self.hub.informer(kind).store.raw(key_of(namespace, name))

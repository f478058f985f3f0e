"""Send Workloads to workers: nominate, record who won, bring back how the job goes, and try again where it was lost.

It never talks to a worker itself: it decides after what is known, writes to the hub, and wakes those that do.

Reads:   Workload, AdmissionCheck, MultiKueueConfig, the jobs, and what the workers have
Writes:  Workload status (as `kueue-admission`), the status of jobs, Events
Mirrors: Kueue pkg/controller/admissionchecks/multikueue/workload.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import TRUE, timestamp
from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.api.meta import Object, precondition_of, replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue import messages
from fleetqueue.embedded.multikueue.decisions import (
    GroupAction,
    GroupStep,
    decide,
    is_there,
    last_status_changes,
    status_changes,
    wanted_on_each,
)
from fleetqueue.embedded.multikueue.delayed_topologies import placed_sets, with_placed_sets
from fleetqueue.embedded.multikueue.group_lookup import BY_JOB, NotDispatchable, WorkloadGroups
from fleetqueue.embedded.multikueue.metrics import MultiKueueMetrics
from fleetqueue.embedded.multikueue.names import EVENT, WORKLOAD_CONTROLLER
from fleetqueue.embedded.multikueue.workload_group import WorkloadGroup, hub_facts
from fleetqueue.rules import workload_admission
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import apply_admission

BATCH_SECONDS: Final = 1.0
"""How long changes of a job are gathered before its status is brought back; a pod's life is many of them."""
BY_CHECK: Final = "admission check"

log = Log("multikueue")


class MultiKueueWorkloadController(Controller):
    name = "multikueue workloads"
    concurrency = 8

    def __init__(
        self, hub: Cluster, metrics: Metrics, *, groups: WorkloadGroups, multikueue_metrics: MultiKueueMetrics
    ) -> None:
        super().__init__(hub, metrics)
        self.groups = groups
        self.multikueue_metrics = multikueue_metrics
        self.events = SeriesRecorder(hub.client, WORKLOAD_CONTROLLER)
        self._ended: dict[str, float] = {}
        """When it was first seen that the job of a slice has ended on the hub, too."""
        store = hub.informer(kueue.QueuedWorkload).store
        store.add_index(BY_CHECK, lambda view: [check.name for check in view.status.admission_checks])

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(kueue.QueuedWorkload, self._with_siblings, facts=self._facts)
        yield Watch(kueue.AdmissionCheck, lambda check: self._of_check(check.name))
        yield Watch(kueue.MultiKueueConfig, self._of_config)
        for adapter in self.groups.adapters.values():
            yield Watch(adapter.kind, self._of_job, labels=adapter.labels)

    async def reconcile(self, key: str) -> None:
        priority_class = self.groups.local(key)
        if priority_class is None:
            self._clean_up(key)
            return
        local, raw = priority_class
        group = self.groups.find(key)
        if group is None:
            return
        if isinstance(group, NotDispatchable):
            await self._refuse(local, raw, group)
            return
        step = decide(group, nominates=self.groups.settings.dispatcher == kueue.ALL_AT_ONCE)
        await self._take(group, raw, step)
        self._wake_workers(key, group)
        if step.act is GroupAction.WAIT:
            raise errors.RetryLater(step.seconds, "a worker is given up then")

    def on_event(self, key: str, is_progress: bool) -> None:
        """Hear that something changed on a worker; the progress of a job can wait a little."""
        if self.groups.local(key) is None:
            return  # what is left of it is looked for from time to time
        if is_progress:
            self.queue.add_after(key, BATCH_SECONDS)
        else:
            self.wake(key)

    def wake_all(self) -> None:
        """Look at every Workload of MultiKueue's again: a worker came or went."""
        for check in self.hub.list(kueue.AdmissionCheck):
            if check.is_multikueue:
                for key in self._of_check(check.name):
                    self.wake(key)

    def _wake_workers(self, key: str, group: WorkloadGroup) -> None:
        for cluster, what in wanted_on_each(group).items():
            remote = self.groups.remotes.get(cluster)
            if remote is not None and remote.copies is not None and not is_there(what, group.copies[cluster]):
                remote.copies.wake(key)

    def _leave_to_its_job(self, group: WorkloadGroup) -> None:
        """Raise RetryLater for a moment where the job of a slice has ended on the hub.

        There the job's own controller finishes the slice, and says so. Of slices that have finished it knows nothing,
        so that without this it would be chance whether somebody says so.
        """
        if not group.is_elastic or not group.jobs or not all(map(group.adapter.has_ended, group.jobs)):
            return
        since = self._ended.setdefault(group.local.key, clock.monotonic())
        if (left := since + BATCH_SECONDS - clock.monotonic()) > 0:
            raise errors.RetryLater(left, "its job has ended, and finishes it")
        del self._ended[group.local.key]

    def _clean_up(self, key: str) -> None:
        self._ended.pop(key, None)
        for remote in self.groups.remotes:
            if remote.copies is not None and remote.has_anything(key):
                remote.copies.wake(key)

    # What it writes

    async def _take(self, group: WorkloadGroup, raw: Manifest, step: GroupStep) -> None:
        match step.act:
            case GroupAction.NOMINATE:
                await self._apply(raw, nominatedClusterNames=list(step.clusters) or None)
            case GroupAction.RECORD:
                await self._record(group, raw, step.cluster)
            case GroupAction.PLACE:
                await self._apply(raw, admission=_placed(group, raw, step.cluster))
            case GroupAction.RETRY:
                await self._retry(group, raw, step)
            case GroupAction.COPY_STATUS:
                for job, status in status_changes(group, group.copies[step.cluster]):
                    await self._write_job(group, job, status)
            case GroupAction.LAST_STATUS:
                for job, status in last_status_changes(group):
                    await self._write_job(group, job, status)
            case GroupAction.FINISH:
                self._leave_to_its_job(group)
                await self._finish(group.local, raw, step)

    async def _record(self, group: WorkloadGroup, raw: Manifest, cluster: str) -> None:
        message = messages.admitted(cluster)
        checks = _with_state(raw, group.check.name, kueue.READY, message)
        placed = _placed(group, raw, cluster)
        await self._apply(
            raw, admission=placed, admissionChecks=checks, clusterName=cluster, nominatedClusterNames=None
        )
        admission = group.local.status.admission
        queue = admission.cluster_queue if admission is not None else ""
        self.multikueue_metrics.admitted.labels(queue, cluster, self.multikueue_metrics.role).inc()
        log.info("workload placed", workload=group.local.key, cluster=cluster)
        await self.events.normal(group.local, EVENT, message)

    async def _retry(self, group: WorkloadGroup, raw: Manifest, step: GroupStep) -> None:
        await self._apply(raw, admissionChecks=_with_state(raw, group.check.name, kueue.RETRY, step.message))
        log.info("workload taken back", workload=group.local.key, why=step.message)
        if step.event == NORMAL:
            await self.events.normal(group.local, EVENT, step.message)
        elif step.event == WARNING:
            await self.events.warning(group.local, EVENT, step.message)

    async def _refuse(self, local: kueue.Workload, raw: Manifest, refusal: NotDispatchable) -> None:
        if local.is_live:
            message = messages.previously(refusal.message, refusal.check.state)
            await self._apply(raw, admissionChecks=_with_state(raw, refusal.check.name, kueue.REJECTED, message))

    async def _finish(self, local: kueue.Workload, raw: Manifest, step: GroupStep) -> None:
        condition = {
            "type": kueue.FINISHED,
            "status": TRUE,
            "reason": step.reason,
            "message": step.message,
            "lastTransitionTime": timestamp(clock.now()),
            "observedGeneration": local.metadata.generation,
        }
        await self._apply(raw, conditions=workload_admission.with_condition(raw, condition))

    async def _apply(self, raw: Manifest, **changes: object) -> None:
        await apply_admission(self.hub.client, workload_admission.patch(raw, **changes))

    async def _write_job(self, group: WorkloadGroup, job: Manifest, status: Manifest) -> None:
        metadata = job["metadata"]
        # Some kinds refuse a status in which nothing stands.
        wanted = replacement(job.get("status") or {}, status) if status else None
        patch = {"metadata": precondition_of(metadata), "status": wanted}
        resource, namespace = group.adapter.kind.resource, metadata["namespace"]
        await self.hub.client.merge(resource, metadata["name"], namespace, patch, subresource="status")

    # Who is woken

    def _of_check(self, name: str) -> Iterable[str]:
        return [view.key for view in self.hub.by_index(kueue.QueuedWorkload, BY_CHECK, name)]

    def _of_config(self, config: kueue.MultiKueueConfig) -> Iterable[str]:
        for check in self.hub.list(kueue.AdmissionCheck):
            if check.config_name == config.name:
                yield from self._of_check(check.name)

    def _with_siblings(self, local: kueue.QueuedWorkload) -> Iterable[str]:
        """Wake a Workload, and the others of the same job: they go where it goes."""
        return (local.key, *(view.key for view in self.groups.siblings(local)))

    def _of_job(self, job: Object) -> Iterable[str]:
        workloads = self.hub.by_index(kueue.QueuedWorkload, BY_JOB, f"{job.resource.kind}/{job.key}")
        return [view.key for view in workloads if self.groups.check(view) is not None]

    def _facts(self, local: kueue.QueuedWorkload) -> tuple[Any, ...] | None:
        """Return what is looked at; nothing of a Workload without a check of ours, and so of all on a mere worker."""
        return None if self.groups.check(local) is None else hub_facts(local)


def _placed(group: WorkloadGroup, raw: Manifest, cluster: str) -> Manifest | None:
    """Return the hub's admission, which knows of the topologies that a cluster has assigned."""
    return with_placed_sets(raw, placed_sets(group.copies[cluster].view))


def _with_state(raw: Manifest, name: str, state: str, message: str) -> list[Manifest]:
    return workload_admission.with_check(
        raw, name, state=state, message=message, lastTransitionTime=timestamp(clock.now())
    )

"""Finish the evictions that Kueue leaves unfinished on the hub.

Reads:   Workload, AdmissionCheck, MultiKueueConfig, the workers, and the Job of a Workload
Writes:  Job status

Kueue 0.19 may remove the copy of an evicted job before its last status has reached the hub. The hub's Job then counts
pods that are gone and does not say that it is suspended, so that Kubernetes 1.36 refuses what Kueue wants to reset in
it: the job holds its quota for ever and never runs again. Once no cluster has a copy, that status is known all the
same, and Kueue goes on by itself when it is written. See kubernetes-sigs/kueue#15380. A Workload that somebody deletes
while its job runs leaves a Job behind that is stuck in the same way.

Of a job that must not run twice the eviction is ended while its cluster does not answer: it then waits for its cluster
with quota, and goes on there when it answers.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import find
from fleetqueue.api.meta import OwnerReference, changes, precondition_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.copies import Copies, WaitsForCluster
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.controllers.placement_admission.metrics import PlacementAdmissionMetrics
from fleetqueue.rules.stopped_jobs import last_status
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

KUEUE_SECONDS: Final = 5.0
"""Kueue ends an eviction within a second or two after the copy is gone; what takes longer has got stuck."""

log = Log("evictions")


class EvictionController(Controller):
    name = "evictions"
    concurrency = 4

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        *,
        objects: HubObjects,
        copies: Copies,
        admission_metrics: PlacementAdmissionMetrics,
    ) -> None:
        super().__init__(hub, metrics)
        self.objects = objects
        self.copies = copies
        self.admission_metrics = admission_metrics

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(kueue.Workload, lambda workload: (workload.key,) if _is_concerned(workload) else ()),)

    async def reconcile(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        workload = self.hub.get(kueue.Workload, name, namespace)
        if workload is None or not _is_concerned(workload) or not self._is_ours_to_finish(workload):
            return
        if (left := _seconds_left(workload)) > 0:
            raise errors.RetryLater(left, "Kueue has time to end the eviction")
        config = self.objects.config(self.objects.config_of(workload))
        if workload.is_deleting:
            if config is not None and await self._is_nowhere(workload, config):
                await self._finish(workload, messages.deletion_finished())
            raise errors.RetryLater(KUEUE_SECONDS, "the deletion has not ended")
        try:
            # Without a config nobody knows where to look; Kueue waits for it as well.
            unasked = await self._unasked(workload, config) if config is not None else None
        except WaitsForCluster:
            if config is not None and self._is_held_elsewhere(workload, config):
                await self._finish(workload, messages.eviction_ended_early())
            raise
        if unasked is not None:
            if not _is_job(workload):
                stuck = messages.eviction_stuck(_kind(workload.owner), unasked)
                await self.hub.events.warning(workload, "EvictionStuck", stuck)
            await self._finish(workload, messages.eviction_finished(unasked))
        raise errors.RetryLater(KUEUE_SECONDS, "the eviction has not ended")

    def _is_ours_to_finish(self, workload: kueue.Workload) -> bool:
        """Tell whether a Workload is kept from Kueue's own way out of this, which is to nominate clusters for it again.

        That waits for our checks, which Kueue resets with the eviction; and it is our dispatcher's, where we have it.
        """
        is_multikueue = self.objects.multikueue_check(workload) is not None
        return is_multikueue and (bool(self.objects.our_checks(workload)) or self.objects.dispatches)

    async def _unasked(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str] | None:
        """Return which clusters were given up without an answer; None where a cluster has a copy.

        Raises WaitsForCluster where none that answers has one, and one that does not answer may.
        """
        unasked: list[str] = []
        waiting: WaitsForCluster | None = None
        for member in self.copies.past(workload, config):
            try:
                copy = await self.copies.ask(workload, member, config)
            except WaitsForCluster as waits:
                waiting = waits
                continue
            if copy is not None:
                return None
            is_fenced = self.copies.policies.is_fence(workload) and not self.copies.is_gone(member, config)
            if self.copies.silent_members.is_silent(member) and not is_fenced:
                unasked.append(member)
        if waiting is not None:
            raise waiting
        return unasked

    async def _is_nowhere(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> bool:
        """Tell whether all clusters have answered that they have no copy; raises WaitsForCluster.

        Nobody is given up: for a job that may run twice, the next Workload does not ask where this one has been.
        """
        for member in sorted({*workload.clusters, *self.objects.once_listed(config)}):
            copy = await self.copies.ask(workload, member, config)
            if copy is not None or self.copies.silent_members.is_silent(member):
                return False
        return True

    def _is_held_elsewhere(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> bool:
        """Tell whether our dispatcher keeps a Workload from being started anew, also when its eviction has ended.

        Then it ends: a job whose eviction is open when its cluster answers again is stopped there, and begins anew.
        A cluster that Kueue still reaches tells it how the job is, and what we write would be undone.
        """
        if self.copies.policies.is_rerun(workload) or not self.objects.dispatches:
            return False
        silent = [m for m in self.copies.past(workload, config) if self.copies.silent_members.is_silent(m)]
        return not any(map(self.objects.is_connected, silent))

    async def _finish(self, workload: kueue.Workload, message: str) -> None:
        owner = workload.owner
        if owner is None or not _is_job(workload):
            return
        raw = await self.hub.client.find(Job.resource, owner.name, workload.namespace)
        if raw is None:
            return  # its Workload is about to go
        status = lacking(raw, clock.now()) if raw["metadata"]["uid"] == owner.uid else {}
        if not status:
            return
        patch = {"metadata": precondition_of(raw["metadata"]), "status": status}
        await self.hub.client.merge(Job.resource, owner.name, workload.namespace, patch, subresource="status")
        self.admission_metrics.evictions_finished.inc()
        log.info("eviction finished", workload=workload.key)
        await self.hub.events.normal(workload, "EvictionFinished", message)


def lacking(raw: Manifest, now: datetime) -> Manifest:
    """Return what the status of a stopped Job lacks; empty where it lacks nothing, or is not MultiKueue's to write."""
    if Job.view(raw).spec.managed_by != kueue.MULTIKUEUE_CONTROLLER:
        return {}
    return changes(raw.get("status") or {}, last_status(raw, now))


def _is_concerned(workload: kueue.Workload) -> bool:
    """Tell whether a Workload is being evicted; or deleted, while its Job holds it."""
    is_held = workload.is_deleting and workload.is_true(kueue.QUOTA_RESERVED) and not workload.is_finished
    return workload.is_leaving or (is_held and _is_job(workload))


def _seconds_left(workload: kueue.Workload) -> float:
    evicted = find(workload.status.conditions, kueue.EVICTED)
    since = workload.metadata.deletion_timestamp or (evicted.last_transition_time if evicted is not None else None)
    if since is None:
        return 0.0
    return (since + timedelta(seconds=KUEUE_SECONDS) - clock.now()).total_seconds()


def _is_job(workload: kueue.Workload) -> bool:
    owner = workload.owner
    resource = Job.resource
    return owner is not None and (owner.api_version, owner.kind) == (resource.api_version, resource.kind)


def _kind(owner: OwnerReference | None) -> str:
    return f"{owner.kind} {owner.name}" if owner is not None else "job"

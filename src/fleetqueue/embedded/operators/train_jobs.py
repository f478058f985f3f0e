"""Run TrainJobs: make the JobSet that a job and its runtime come to, and say of the job how that goes.

Reads:   TrainJob, TrainingRuntime, ClusterTrainingRuntime, JobSet
Writes:  JobSet (apply, delete), TrainJob status, Events
Mirrors: trainer pkg/controller/trainjob_controller.go, pkg/runtime/framework/plugins/jobset
Left out: the trainer's webhooks, and the finalizers of runtimes that are in use.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import COMPLETE, FAILED
from fleetqueue.api.condition_lists import is_true, with_conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.fields import value_at
from fleetqueue.api.job_kinds import TRAIN_JOB, TrainJob
from fleetqueue.api.jobset_v1alpha2 import COMPLETED, JobSet
from fleetqueue.api.jobset_v1alpha2 import FAILED as JOB_SET_FAILED
from fleetqueue.api.meta import Object, controller_reference, key_of, precondition_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.train_jobs import RUNTIMES, job_set_of, runtime_kind, runtime_name, unsupported
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

SUSPENDED: Final = "Suspended"
TOO_LATE: Final = "DeadlineExceeded"
COUNTS: Final = ("name", "ready", "succeeded", "failed", "active", "suspended")
FOREIGN_SECONDS: Final = 30.0
"""Nothing wakes us when a foreign JobSet goes that is in the way."""

log = Log("trainer")


class TrainJobController(Controller):
    name = "train jobs"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = Recorder(hub.client, "trainer-trainjob-controller")

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(TrainJob, by_key)
        yield Watch(JobSet, _train_job_of)
        for kind in RUNTIMES:
            yield Watch(kind)

    async def reconcile(self, key: str) -> None:
        job = self.hub.informer(TrainJob).store.raw(key)
        if job is None or "deletionTimestamp" in job["metadata"] or not _is_ours(job):
            return
        job_set = self.hub.informer(JobSet).store.raw(key)
        if job_set is not None and not _is_owned(job_set, job):
            await self._complain(job, f'JobSet "{key}" exists and is not controlled by the TrainJob')
            raise errors.RetryLater(FOREIGN_SECONDS, "a foreign JobSet is in the way")
        status = status_of(job, job_set, clock.now())
        problem = await self._bring(job, job_set) if not _has_ended(status) else ""
        left = time_left(job, status, clock.now())
        if left is not None and left <= 0:
            status = _too_late(status, clock.now())
        await self._write(job, status)
        if left is not None and left <= 0 and job_set is not None:
            await self.hub.client.delete_seen(JobSet.view(job_set))
        elif left is not None:
            raise errors.RetryLater(left, "its deadline is then")
        if problem:
            await self._complain(job, problem)
            raise errors.NotFound(problem)

    async def _bring(self, job: Manifest, job_set: Manifest | None) -> str:
        """Bring the JobSet to what is wanted, unless it runs; return why that cannot be."""
        kind, namespace = runtime_kind(job), job["metadata"]["namespace"]
        if kind is None or not may_change(job, job_set):
            return ""
        name = runtime_name(job)
        place = key_of(namespace if kind.resource.namespaced else "", name)
        runtime = self.hub.informer(kind).store.raw(place)
        if runtime is None:
            return f'{kind.resource.plural}.{kind.resource.group} "{name}" not found'
        wanted = wanted_job_set(job, runtime)
        if job_set is None or differs(job_set, wanted):
            await self.hub.client.apply(JobSet.resource, wanted, manager="trainer")
            log.info("job set written", train_job=key_of(namespace, job["metadata"]["name"]))
        return ""

    async def _write(self, job: Manifest, status: Manifest) -> None:
        metadata = job["metadata"]
        if not status or status == (job.get("status") or {}):
            return
        patch = {"metadata": precondition_of(metadata), "status": status}
        where = metadata["name"], metadata["namespace"]
        await self.hub.client.merge(TrainJob.resource, *where, patch, subresource="status")

    async def _complain(self, job: Manifest, why: str) -> None:
        note = f"TrainJob resources reconciliation failed: {why}"
        await self.events.warning(TrainJob.view(job), "TrainJobResourcesCreationFailed", note, action="Reconciling")


def wanted_job_set(job: Manifest, runtime: Manifest) -> Manifest:
    """Return the JobSet that a job is to have."""
    metadata = job["metadata"]
    wanted = job_set_of(job, runtime)
    wanted["metadata"]["ownerReferences"] = [controller_reference(TrainJob.resource, metadata["name"], metadata["uid"])]
    return {**wanted, "spec": {**wanted["spec"], "suspend": TRAIN_JOB.is_suspended(job)}}


def may_change(job: Manifest, job_set: Manifest | None) -> bool:
    """Tell whether a JobSet may be written: one that runs, and shall, is left alone."""
    return job_set is None or TRAIN_JOB.is_suspended(job) or bool(job_set["spec"].get("suspend"))


def differs(live: Manifest, wanted: Manifest) -> bool:
    """Tell whether a JobSet is to be suspended or resumed, or its pods shall run elsewhere; no more can change."""
    return bool(_changeable(live) != _changeable(wanted))


def status_of(job: Manifest, job_set: Manifest | None, now: datetime) -> Manifest:
    """Return the status that a job has to have, after that of its JobSet."""
    live = job.get("status") or {}
    conditions = with_conditions(live.get("conditions") or (), [*_told(job, job_set)], now)
    counted = [
        {name: counts.get(name, 0) for name in COUNTS}
        for counts in value_at(job_set, ("status", "replicatedJobsStatus")) or ()
    ]
    wanted = {**live, "conditions": conditions, **({"jobsStatus": counted} if job_set is not None else {})}
    return {name: value for name, value in wanted.items() if value}


def time_left(job: Manifest, status: Manifest, now: datetime) -> float | None:
    """Return for how many seconds a job that runs may go on; None where that is for ever."""
    seconds = job["spec"].get("activeDeadlineSeconds")
    if not seconds or TRAIN_JOB.is_suspended(job) or _has_ended(status):
        return None
    resumed = [one for one in status.get("conditions") or () if (one["type"], one["status"]) == (SUSPENDED, "False")]
    since = resumed[0]["lastTransitionTime"] if resumed else job["metadata"]["creationTimestamp"]
    return (datetime.fromisoformat(since) + timedelta(seconds=seconds) - now).total_seconds()


def _told(job: Manifest, job_set: Manifest | None) -> Iterable[Condition]:
    if TRAIN_JOB.is_suspended(job):
        yield Condition.true(SUSPENDED, "Suspended", "TrainJob is suspended")
    elif is_true(job, SUSPENDED):
        yield Condition.false(SUSPENDED, "Resumed", "TrainJob is resumed")
    if runtime_kind(job) is None:
        yield Condition.true(FAILED, "TrainingRuntimeNotSupported", unsupported(job))
    for condition in value_at(job_set, ("status", "conditions")) or ():
        kind = {COMPLETED: COMPLETE, JOB_SET_FAILED: FAILED}.get(condition["type"])
        if kind is not None and condition["status"] == "True":
            yield Condition.true(kind, condition["reason"], condition["message"])


def _too_late(status: Manifest, now: datetime) -> Manifest:
    told = Condition.true(FAILED, TOO_LATE, "TrainJob exceeded its active deadline")
    return {**status, "conditions": with_conditions(status.get("conditions") or (), [told], now)}


def _has_ended(status: Manifest) -> bool:
    return any(is_true({"status": status}, kind) for kind in (COMPLETE, FAILED))


def _changeable(job_set: Manifest) -> Any:
    parts = value_at(job_set, ("spec", "replicatedJobs")) or ()
    templates = [value_at(part, ("template", "spec", "template")) or {} for part in parts]
    of_metadata = [[value_at(one, ("metadata", name)) or {} for name in ("labels", "annotations")] for one in templates]
    names = ("nodeSelector", "tolerations", "schedulingGates")
    of_spec = [[value_at(one, ("spec", name)) or None for name in names] for one in templates]
    return bool(job_set["spec"].get("suspend")), of_metadata, of_spec


def _is_ours(job: Manifest) -> bool:
    """Tell whether nobody else manages a job. The trainer 2.2.1 does not look at that, though its API promises it."""
    return TRAIN_JOB.manager_of(job) in ("", TRAIN_JOB.own_controller)


def _is_owned(job_set: Manifest, job: Manifest) -> bool:
    owners = job_set["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == job["metadata"]["uid"] for owner in owners)


def _train_job_of(job_set: Object) -> Iterable[str]:
    for owner in job_set.metadata.owner_references:
        if owner.controller and (owner.api_version, owner.kind) == (TrainJob.resource.api_version, "TrainJob"):
            yield key_of(job_set.namespace, owner.name)

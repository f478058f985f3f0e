"""Start the Jobs of CronJobs when their time comes, and keep those that ended up to a number.

Reads:   CronJob, Job
Writes:  Job (create, delete), CronJob status, Events
Mirrors: kubernetes pkg/controller/cronjob
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import COMPLETE, FAILED, Job
from fleetqueue.api.conditions import is_true, timestamp
from fleetqueue.api.events_v1 import WARNING
from fleetqueue.api.meta import split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes.cron_job_objects import CronJob, job_manifest, reference_to
from fleetqueue.embedded.kubernetes.cron_job_plan import decide, seconds_to_next, surplus_jobs
from fleetqueue.embedded.kubernetes.ownership import keys_of_owner, owner_uid
from fleetqueue.embedded.kubernetes.pod_control import is_of_ending_namespace
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.own_writes import OwnWrites
from fleetqueue.runtime.statuses import live_status, write_status

BY_CRON_JOB: Final = "cron-job"
LAG_SECONDS: Final = 1.0

cron_job_of: Final = keys_of_owner(CronJob.resource)
log = Log("cron-jobs")


class CronJobController(Controller):
    name = "cron-jobs"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = CountingRecorder(hub.client, "cronjob-controller")
        jobs = hub.informer(Job)
        jobs.store.add_index(BY_CRON_JOB, cron_job_of)
        self.job_writes = OwnWrites(jobs.store)
        self.own_writes = OwnWrites(hub.informer(CronJob).store)

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(Job, cron_job_of),)

    def subscribe(self) -> None:
        self.hub.informer(Job).subscribe(self.job_writes.seen)  # first, so that who is woken finds it settled
        self.hub.informer(CronJob).subscribe(self.own_writes.seen)
        super().subscribe()
        self.hub.informer(CronJob).subscribe(self._changed)

    def _changed(self, old: CronJob | None, new: CronJob | None) -> None:
        """Wake a CronJob; with another schedule only when that has its next time, since none was missed by it."""
        cron_job = new or old
        assert cron_job is not None
        wait = None
        if old is not None and new is not None and old.uid == new.uid and _times(old) != _times(new):
            wait = _wait(new)
        if wait is None:
            self.wake(cron_job.key)
        else:
            self.queue.add_after(cron_job.key, wait)

    async def reconcile(self, key: str) -> None:
        if self.job_writes.are_unseen(key) or self.own_writes.are_unseen(key):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own writes yet")
        namespace, name = split_key(key)
        cron_job = self.hub.get(CronJob, name, namespace)
        if cron_job is None:
            return
        jobs = self.hub.by_index(Job, BY_CRON_JOB, key)
        live = live_status(self.hub, cron_job)
        status: Manifest = {**live, "active": list(live.get("active") or ())}
        try:
            await self._clean_up(cron_job, jobs, status)
            await self._notice(cron_job, jobs, status)
            again = await self._serve(cron_job, status)
        finally:
            await self._write(cron_job, live, status)
        if again is not None:
            raise errors.RetryLater(again, "its next time comes then")

    async def _clean_up(self, cron_job: CronJob, jobs: Sequence[Job], status: Manifest) -> None:
        for job in surplus_jobs(cron_job, jobs):
            with suppress(errors.ApiError):  # it has been said, and there is time until the next look
                await self._delete(cron_job, job, status)

    async def _notice(self, cron_job: CronJob, jobs: Sequence[Job], status: Manifest) -> None:
        """Take note of Jobs that have ended, and of those that are there without us, or are not there any more."""
        active = {reference["uid"]: reference for reference in status["active"]}
        for job in jobs:
            if not job.has_ended and job.uid not in active:
                note = f"Saw a job that the controller did not create or forgot: {job.name}"
                await self.events.warning(cron_job, "UnexpectedJob", note)
            if job.has_ended and job.uid in active:
                _drop(status, job.uid)
                how = COMPLETE if is_true(job.status.conditions, COMPLETE) else FAILED
                note = f"Saw completed job: {job.name}, condition: {how}"
                await self.events.normal(cron_job, "SawCompletedJob", note)
        ends = [job.status.completion_time for job in jobs if is_true(job.status.conditions, COMPLETE)]
        known = [cron_job.status.last_successful_time, *ends]
        if any(known):
            status["lastSuccessfulTime"] = timestamp(max(end for end in known if end is not None))
        for reference in [one for uid, one in active.items() if uid not in {job.uid for job in jobs}]:
            if await self.hub.client.find(Job.resource, reference["name"], cron_job.namespace) is None:
                await self.events.normal(cron_job, "MissingJob", f"Active job went missing: {reference['name']}")
                _drop(status, reference["uid"])

    async def _serve(self, cron_job: CronJob, status: Manifest) -> float | None:
        """Start what is due; return in how many seconds the next time comes."""
        if cron_job.is_deleting:
            return None
        plan = decide(CronJob.view({**self.hub.raw(cron_job), "status": status}), clock.now())
        for event in plan.events:
            tell = self.events.warning if event.kind == WARNING else self.events.normal
            await tell(cron_job, event.reason, event.note)
        if plan.start is None:
            return plan.look_again
        for reference in list(status["active"]) if plan.replaces else ():
            job = self.hub.get(Job, reference["name"], cron_job.namespace)
            if job is not None:
                await self._delete(cron_job, job, status)
        started = await self._start(cron_job, plan.start)
        if started is not None:
            status["active"].append(reference_to(started))
            status["lastScheduleTime"] = timestamp(plan.start)
        return plan.look_again

    async def _start(self, cron_job: CronJob, moment: datetime) -> Job | None:
        """Create the Job of a moment; one that we made before, and could not note, is taken for it."""
        manifest = job_manifest(cron_job, moment)
        name = manifest["metadata"]["name"]
        self.job_writes.creating(cron_job.key, name, cron_job.namespace)
        try:
            answer = await self.hub.client.create(Job.resource, manifest)
        except errors.AlreadyExists:
            self.job_writes.forget(name, cron_job.namespace)
            job = Job.view(await self.hub.client.get(Job.resource, name, cron_job.namespace))
            return job if owner_uid(job) == cron_job.uid else None
        except errors.ApiError as error:
            self.job_writes.forget(name, cron_job.namespace)
            if is_of_ending_namespace(error):
                return None
            await self.events.warning(cron_job, "FailedCreate", f"Error creating job: {error}")
            raise
        await self.events.normal(cron_job, "SuccessfulCreate", f"Created job {name}")
        log.info("job started", cron_job=cron_job.key, job=name)
        return Job.view(answer)

    async def _delete(self, cron_job: CronJob, job: Job, status: Manifest) -> None:
        self.job_writes.deleting(cron_job.key, job)
        try:
            await self.hub.client.delete(job.resource, job.name, job.namespace, uid=job.uid, propagation="Background")
        except (errors.ApiError, errors.Unreachable) as error:
            self.job_writes.forget(job.name, job.namespace)
            await self.events.warning(cron_job, "FailedDelete", f"Deleted job: {error}")
            raise
        _drop(status, job.uid)
        await self.events.normal(cron_job, "SuccessfulDelete", f"Deleted job {job.name}")

    async def _write(self, cron_job: CronJob, live: Manifest, status: Manifest) -> None:
        wanted = {field: value for field, value in status.items() if value != []}
        answer = await write_status(self.hub, cron_job, live, wanted)
        if answer is not None:
            self.own_writes.wrote(cron_job.key, answer)


def _drop(status: Manifest, uid: str) -> None:
    status["active"] = [reference for reference in status["active"] if reference["uid"] != uid]


def _times(cron_job: CronJob) -> tuple[str, str | None]:
    return cron_job.spec.schedule, cron_job.spec.time_zone


def _wait(cron_job: CronJob) -> float | None:
    try:
        return seconds_to_next(cron_job, clock.now(), cron_job.timetable())
    except (LookupError, ValueError):
        return None  # it is said at once

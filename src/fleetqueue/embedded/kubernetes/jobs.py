"""Run Jobs: keep as many pods as a Job wants, count how they end, and say when it is over.

Reads:   Job, Pod
Writes:  Pod (create, delete, the tracking finalizer), Job status, Events
Mirrors: kubernetes pkg/controller/job

Left out: adopting pods that somebody else made, and workload-aware scheduling.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import SUCCESS_CRITERIA_MET, TRACKING, Job
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.meta import split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes import job_status
from fleetqueue.embedded.kubernetes.job_plan import JobPlan, decide, pod_of
from fleetqueue.embedded.kubernetes.job_tally import Failures, JobPodCounts, is_complete, is_tracked, tally
from fleetqueue.embedded.kubernetes.ownership import keys_of_owner, owner_uid
from fleetqueue.embedded.kubernetes.pod_control import PodControl, at_once, slow_start
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.own_writes import OwnWrites
from fleetqueue.runtime.statuses import live_status, write_status

BY_JOB: Final = "job"
LAG_SECONDS: Final = 1.0
"""The change that we wait for wakes us; this only guards against a watch that broke."""

job_of: Final = keys_of_owner(Job.resource)
log = Log("jobs")


class JobController(Controller):
    name = "jobs"
    concurrency = 4

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = CountingRecorder(hub.client, "job-controller")
        self.pods = PodControl(hub, self.events)
        hub.informer(Pod).store.add_index(BY_JOB, job_of)
        self.job_writes = OwnWrites(hub.informer(Job).store)
        self._failures: dict[str, Failures] = {}

    def watches(self) -> Iterable[Watch[Any]]:
        return Watch(Job, by_key, facts=_ours), Watch(Pod, job_of)

    def subscribe(self) -> None:
        self.hub.informer(Pod).subscribe(self.pods.writes.seen)  # first, so that who is woken finds it settled
        self.hub.informer(Job).subscribe(self.job_writes.seen)
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        if self.pods.writes.are_unseen(key) or self.job_writes.are_unseen(key):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own writes yet")
        namespace, name = split_key(key)
        job = self.hub.get(Job, name, namespace)
        pods = self.hub.by_index(Pod, BY_JOB, key)
        if job is not None and not job.is_for_job_controller:
            return
        uid = job.uid if job is not None else ""
        own = [pod for pod in pods if owner_uid(pod) == uid]
        await self._release_all(key, [pod for pod in pods if owner_uid(pod) != uid])
        if job is None or job.has_ended:
            self._failures.pop(key, None)
            await self._release_all(key, own)
            return
        await self._run(job, own)

    async def _run(self, job: Job, pods: Sequence[Pod]) -> None:
        counted = tally(job, pods)
        plan = decide(job, pods, counted, self._failures.get(job.key, Failures()), clock.now())
        await at_once(plan.delete, partial(self._delete, job, plan))
        created, failure = await slow_start(plan.create, partial(self._create, job, counted))
        active = len(counted.active) - len(plan.delete) + created
        ready = counted.ready - sum(pod.is_ready for pod in plan.delete)
        numbers = job_status.Numbers(active, ready, len(counted.terminating) + len(plan.delete))
        await self._track(job, pods, counted, plan, numbers)
        if failure is not None:
            raise failure
        if plan.look_again is not None:
            raise errors.RetryLater(plan.look_again, "its deadline or its next attempt is due then")

    # Pods

    async def _delete(self, job: Job, plan: JobPlan, pod: Pod) -> None:
        if not plan.is_counted:
            await self._release(job.key, pod)
        await self.pods.delete(job, pod)

    async def _create(self, job: Job, counted: JobPodCounts, index: int | None) -> None:
        replaced = counted.kept.get(index) if index is not None else None
        manifest = pod_of(job, index, clock.suffix(), replaced)
        await self.pods.create(job, manifest)

    async def _release_all(self, owner: str, pods: Iterable[Pod]) -> None:
        await at_once(pods, partial(self._release, owner))

    async def _release(self, owner: str, pod: Pod) -> None:
        """Let a pod go whose end is written down, or whose Job no longer wants it."""
        if not is_tracked(pod):
            return
        patch = {"metadata": {"uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}}
        try:
            answer = await self.hub.client.strategic_merge(pod.resource, pod.name, pod.namespace, patch)
        except errors.NotFound:
            return
        self.pods.writes.wrote(owner, answer)

    # Status

    async def _track(
        self, job: Job, pods: Sequence[Pod], counted: JobPodCounts, plan: JobPlan, numbers: job_status.Numbers
    ) -> None:
        """Note who has ended, let those pods go, and count them: in this order, see `job_status`."""
        live: Manifest = live_status(self.hub, job)
        end, status = plan.ending, live
        if end is None and is_complete(job, counted, numbers.active) and not job.is_deleting:
            end = Condition.true(SUCCESS_CRITERIA_MET, *job_status.REACHED)
        changed = job_status.suspension(job, live, clock.now()) if end is None and not job.is_deleting else None
        noted, may_go = job_status.noted(job, changed or live, pods, counted, numbers, end, clock.now())
        job, status = await self._write(job, live, noted), noted
        self._failures[job.key] = plan.failures
        if changed is not None:
            reason = "Suspended" if job.spec.suspend else "Resumed"
            await self.events.normal(job, reason, f"Job {reason.lower()}")
        await self._release_all(job.key, may_go)
        left = {pod.uid for pod in pods if is_tracked(pod)} - {pod.uid for pod in may_go}
        status = job_status.settled(noted, left)
        over = job_status.finished(status, end, clock.now()) if end is not None else None
        job = await self._write(job, noted, over or status)
        if over is not None and end is not None:
            await self._announce(job, end)

    async def _write(self, job: Job, live: Manifest, wanted: Manifest) -> Job:
        answer = await write_status(self.hub, job, live, wanted)
        if answer is None:
            return job
        self.job_writes.wrote(job.key, answer)
        return Job.view(answer)

    async def _announce(self, job: Job, end: Condition) -> None:
        log.info("job has ended", job=job.key, reason=end.reason)
        if end.type == SUCCESS_CRITERIA_MET:
            await self.events.normal(job, "Completed", "Job completed")
        else:
            await self.events.warning(job, end.reason, end.message)


def _ours(job: Job) -> Job | None:
    """Return a Job that is run here: what becomes of one that others run wakes nobody."""
    return job if job.is_for_job_controller else None

"""Run Jobs: keep as many pods as a Job asks for, count how they end, and say when it is over.

Reads:   Job, Pod
Writes:  Pod (create, delete, the tracking finalizer), Job status, Events
Mirrors: kubernetes pkg/controller/job

Left out: adopting pods that somebody else made, backoffLimitPerIndex, and workload-aware scheduling.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import key_of, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.kubernetes import job_status
from fleetqueue.controllers.kubernetes.job_objects import SUCCESS_CRITERIA_MET, TRACKING, Job
from fleetqueue.controllers.kubernetes.job_plan import Plan, decide, pod_of
from fleetqueue.controllers.kubernetes.job_tally import Failures, Tally, is_complete, is_tracked, tally
from fleetqueue.controllers.kubernetes.own_writes import OwnWrites, delete_pod
from fleetqueue.controllers.kubernetes.pods import Pod
from fleetqueue.controllers.kubernetes.statuses import raw_of, write_status
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

BY_JOB: Final = "job"
LAG_SECONDS: Final = 1.0
"""The change that we wait for wakes us; this only guards against a watch that broke."""

log = Log("jobs")


class JobController(Controller):
    name = "jobs"
    concurrency = 4

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        pods = hub.informer(Pod)
        pods.store.add_index(BY_JOB, job_of)
        self.pod_writes = OwnWrites(pods.store)
        self.job_writes = OwnWrites(hub.informer(Job).store)
        self._failures: dict[str, Failures] = {}

    def watches(self) -> Iterable[Watch[Any]]:
        return Watch(Job, by_key), Watch(Pod, job_of)

    def subscribe(self) -> None:
        self.hub.informer(Pod).subscribe(self.pod_writes.seen)  # first, so that who is woken finds it settled
        self.hub.informer(Job).subscribe(self.job_writes.seen)
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        if self.pod_writes.are_unseen(key) or self.job_writes.are_unseen(key):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own writes yet")
        namespace, name = split_key(key)
        job = self.hub.get(Job, name, namespace)
        pods = self.hub.by_index(Pod, BY_JOB, key)
        if job is not None and not job.is_ours:
            return
        uid = job.uid if job is not None else ""
        own = [pod for pod in pods if _owner(pod) == uid]
        await self._release(key, [pod for pod in pods if _owner(pod) != uid])
        if job is None or job.has_ended:
            self._failures.pop(key, None)
            await self._release(key, own)
            return
        await self._run(job, own)

    async def _run(self, job: Job, pods: Sequence[Pod]) -> None:
        counted = tally(job, pods)
        plan = decide(job, pods, counted, self._failures.get(job.key, Failures()), clock.now())
        deleted = await self._delete(job, plan)
        created, failure = await self._create(job, plan.create)
        active = len(counted.active) - len(deleted) + created
        ready = counted.ready - sum(pod.is_ready for pod in deleted)
        numbers = job_status.Numbers(active, ready, len(counted.terminating) + len(deleted))
        await self._track(job, pods, counted, plan, numbers)
        if failure is not None:
            raise failure
        if plan.look_again is not None:
            raise errors.RetryLater(plan.look_again, "its deadline or its next attempt is due then")

    # Pods

    async def _delete(self, job: Job, plan: Plan) -> Sequence[Pod]:
        for pod in plan.delete:
            if not plan.is_counted:
                await self._release(job.key, [pod])
            await delete_pod(self.hub, self.pod_writes, job.key, pod)
            await self.hub.events.normal(job, "SuccessfulDelete", f"Deleted pod: {pod.name}")
        return plan.delete

    async def _create(self, job: Job, indexes: Iterable[int | None]) -> tuple[int, errors.ApiError | None]:
        """Create pods until one fails; return how many were made, and why no more."""
        made = 0
        for index in indexes:
            manifest = pod_of(job, index, clock.suffix())
            name = manifest["metadata"]["name"]
            self.pod_writes.creating(job.key, name, job.namespace)
            try:
                await self.hub.client.create(Pod.resource, manifest)
            except errors.ApiError as error:
                self.pod_writes.forget(name, job.namespace)
                await self.hub.events.warning(job, "FailedCreate", f"Error creating: {error}")
                return made, error
            await self.hub.events.normal(job, "SuccessfulCreate", f"Created pod: {name}")
            made += 1
        return made, None

    async def _release(self, owner: str, pods: Iterable[Pod]) -> None:
        """Let pods go whose end is written down, or whose Job no longer asks for it."""
        for pod in filter(is_tracked, pods):
            finalizers = [name for name in pod.metadata.finalizers if name != TRACKING]
            metadata = {
                "uid": pod.uid,
                "resourceVersion": pod.metadata.resource_version,
                "finalizers": finalizers or None,
            }
            try:
                answer = await self.hub.client.merge(pod.resource, pod.name, pod.namespace, {"metadata": metadata})
            except errors.NotFound:
                continue
            self.pod_writes.wrote(owner, answer)

    # Status

    async def _track(
        self, job: Job, pods: Sequence[Pod], counted: Tally, plan: Plan, numbers: job_status.Numbers
    ) -> None:
        """Note who has ended, let those pods go, and count them: in this order, see `job_status`."""
        live: Manifest = raw_of(self.hub, job).get("status") or {}
        end, status = plan.ending, live
        if end is None and is_complete(job, counted, numbers.active) and not job.is_deleting:
            end = Condition.true(SUCCESS_CRITERIA_MET, *job_status.REACHED)
        changed = job_status.suspension(job, live, clock.now()) if end is None and not job.is_deleting else None
        noted, may_go = job_status.noted(job, changed or live, pods, counted, numbers, end, clock.now())
        job, status = await self._write(job, live, noted), noted
        self._failures[job.key] = plan.failures
        if changed is not None:
            reason = "Suspended" if job.spec.suspend else "Resumed"
            await self.hub.events.normal(job, reason, f"Job {reason.lower()}")
        deleted = {pod.uid for pod in plan.delete}
        may_go = [pod for pod in may_go if pod.uid not in deleted]  # another version by now: their change wakes us
        await self._release(job.key, may_go)
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
            await self.hub.events.normal(job, "Completed", "Job completed")
        else:
            await self.hub.events.warning(job, end.reason, end.message)


def job_of(pod: Pod) -> Iterable[str]:
    """Wake the Job that a pod belongs to."""
    owner = pod.controller
    if owner is not None and owner.kind == "Job" and owner.api_version.startswith("batch/"):
        yield key_of(pod.namespace, owner.name)


def _owner(pod: Pod) -> str:
    owner = pod.controller
    return owner.uid if owner is not None else ""

"""JobSets.

Mirrors: Kueue pkg/controller/jobs/jobset
"""

from collections.abc import Callable, Sequence
from typing import Final

from fleetqueue.api.jobset_v1alpha2 import COMPLETED, FAILED, JOBSET_CONTROLLER, JobSet
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import Ending, StopWrite, pod_set
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, merged, restored

JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"


class JobSetIntegration:
    kind = JobSet
    framework = "jobset.x-k8s.io/jobset"
    own_controller = JOBSET_CONTROLLER

    def is_suspended(self, job: Manifest) -> bool:
        return bool(job["spec"].get("suspend"))

    def is_active(self, job: Manifest) -> bool:
        return any(status.get("active", 0) > 0 for status in _statuses(job))

    def suspended(self, job: Manifest) -> Manifest:
        return {**job, "spec": {**job["spec"], "suspend": True}}

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        return [_pod_set(replicated_job) for replicated_job in _replicated(job)]

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        count = len(_replicated(job))
        if len(infos) != count:
            raise CannotStart(f"invalid podset infos: expecting {count} podset, got {len(infos)}")
        return _with_templates(job, infos, merged, suspend=False)

    def next_stop(self, job: Manifest, infos: Sequence[PodSetInfo]) -> StopWrite | None:
        if self.is_suspended(job):
            return None
        if len(infos) != len(_replicated(job)):
            return StopWrite(self.suspended(job))
        return StopWrite(_with_templates(job, infos, restored, suspend=True))

    def ending(self, job: Manifest) -> Ending | None:
        conditions = {condition["type"]: condition for condition in (job.get("status") or {}).get("conditions") or ()}
        for kind, reason in ((COMPLETED, "Succeeded"), (FAILED, "Failed")):
            if kind in conditions and conditions[kind]["status"] == "True":
                return Ending(reason, conditions[kind].get("message", ""))
        return None

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        statuses = {entry["name"]: entry.get("succeeded", 0) for entry in _statuses(job)}
        return [
            {"name": entry["name"].lower(), "count": statuses[entry["name"]] * _pods_per_replica(entry)}
            for entry in _replicated(job)
            if 0 < statuses.get(entry["name"], 0) <= entry.get("replicas", 1)
        ]

    def pods_ready(self, job: Manifest) -> bool:
        replicas: int = sum(entry.get("replicas", 1) for entry in _replicated(job))
        ready: int = sum(entry.get("ready", 0) + entry.get("succeeded", 0) for entry in _statuses(job))
        return replicas == ready


def _replicated(job: Manifest) -> list[Manifest]:
    replicated_jobs: list[Manifest] = job["spec"].get("replicatedJobs") or []
    return replicated_jobs


def _statuses(job: Manifest) -> list[Manifest]:
    statuses: list[Manifest] = (job.get("status") or {}).get("replicatedJobsStatus") or []
    return statuses


def _pods_per_replica(replicated: Manifest) -> int:
    spec = replicated["template"]["spec"]
    parallelism = spec.get("parallelism", 1)
    return int(min(parallelism, spec.get("completions", parallelism)))


def _pod_set(replicated: Manifest) -> Manifest:
    template, replicas = replicated["template"]["spec"]["template"], replicated.get("replicas", 1)
    labels = (template.get("metadata") or {}).get("labels") or {}
    count = replicas * _pods_per_replica(replicated)
    groups = {"subGroupIndexLabel": JOB_INDEX, "subGroupCount": replicas}
    return pod_set(replicated["name"].lower(), template, count, labels=labels, **groups)


def _with_templates(
    job: Manifest, infos: Sequence[PodSetInfo], change: Callable[[Manifest, PodSetInfo], Manifest], *, suspend: bool
) -> Manifest:
    changed = []
    for replicated_job, info in zip(_replicated(job), infos, strict=True):
        spec = replicated_job["template"]["spec"]
        template = {**replicated_job["template"], "spec": {**spec, "template": change(spec["template"], info)}}
        changed.append({**replicated_job, "template": template})
    return {**job, "spec": {**job["spec"], "replicatedJobs": changed, "suspend": suspend}}

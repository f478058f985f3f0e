"""JobSets.

Mirrors: Kueue pkg/controller/jobs/jobset
"""

from collections.abc import Callable, Sequence
from typing import Final

from fleetqueue.api.jobset_v1alpha2 import COMPLETED, FAILED, JOBSET_CONTROLLER, JobSet
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import Ending, StopWrite
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, merged, restored
from fleetqueue.embedded.kueue.jobs.pod_templates import pod_set

JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"


class JobSets:
    kind = JobSet
    framework = "jobset.x-k8s.io/jobset"
    own_controller = JOBSET_CONTROLLER

    def is_suspended(self, job: Manifest) -> bool:
        return bool(job["spec"].get("suspend"))

    def is_active(self, job: Manifest) -> bool:
        return any(each.get("active", 0) > 0 for each in _statuses(job))

    def suspended(self, job: Manifest) -> Manifest:
        return {**job, "spec": {**job["spec"], "suspend": True}}

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        return [_pod_set(each) for each in _replicated(job)]

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
        told = {each["type"]: each for each in (job.get("status") or {}).get("conditions") or ()}
        for kind, reason in ((COMPLETED, "Succeeded"), (FAILED, "Failed")):
            if kind in told and told[kind]["status"] == "True":
                return Ending(reason, told[kind].get("message", ""))
        return None

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        statuses = {each["name"]: each.get("succeeded", 0) for each in _statuses(job)}
        return [
            {"name": each["name"].lower(), "count": statuses[each["name"]] * _pods_per_replica(each)}
            for each in _replicated(job)
            if 0 < statuses.get(each["name"], 0) <= each.get("replicas", 1)
        ]

    def pods_ready(self, job: Manifest) -> bool:
        replicas: int = sum(each.get("replicas", 1) for each in _replicated(job))
        ready: int = sum(each.get("ready", 0) + each.get("succeeded", 0) for each in _statuses(job))
        return replicas == ready


def _replicated(job: Manifest) -> list[Manifest]:
    found: list[Manifest] = job["spec"].get("replicatedJobs") or []
    return found


def _statuses(job: Manifest) -> list[Manifest]:
    found: list[Manifest] = (job.get("status") or {}).get("replicatedJobsStatus") or []
    return found


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
    for each, info in zip(_replicated(job), infos, strict=True):
        spec = each["template"]["spec"]
        template = {**each["template"], "spec": {**spec, "template": change(spec["template"], info)}}
        changed.append({**each, "template": template})
    return {**job, "spec": {**job["spec"], "replicatedJobs": changed, "suspend": suspend}}

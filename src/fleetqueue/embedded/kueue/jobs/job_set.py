"""JobSets.

Mirrors: Kueue pkg/controller/jobs/jobset
"""

from collections.abc import Mapping
from typing import Any, Final

from fleetqueue.api.fields import value_at
from fleetqueue.api.job_kinds import JOB_SET
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import INDEX_LABEL
from fleetqueue.embedded.kueue.jobs.template_jobs import TemplateJobs
from fleetqueue.rules.job_endings import Ending, job_set_ending
from fleetqueue.rules.job_templates import JobTemplate, job_set_templates, pods_at_once

JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"


class JobSetIntegration(TemplateJobs):
    def __init__(self) -> None:
        super().__init__(JOB_SET)

    def templates(self, job: Manifest) -> list[JobTemplate]:
        return job_set_templates(job)

    def topology(self, job: Manifest, template: JobTemplate) -> Mapping[str, Any]:
        replicas = value_at(job, (*template.field[:3], "replicas"))
        groups = {"subGroupIndexLabel": JOB_INDEX, "subGroupCount": 1 if replicas is None else replicas}
        return {"podIndexLabel": INDEX_LABEL, **groups}

    def is_active(self, job: Manifest) -> bool:
        return any(status.get("active", 0) > 0 for status in _statuses(job))

    def ending(self, job: Manifest) -> Ending | None:
        return job_set_ending(job)

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        statuses = {entry["name"]: entry.get("succeeded", 0) for entry in _statuses(job)}
        return [
            {"name": entry["name"].lower(), "count": statuses[entry["name"]] * pods_at_once(entry["template"])}
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

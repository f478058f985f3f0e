"""CronJobs as their controller sees them, and the Jobs that it makes of them."""

from datetime import UTC, datetime, tzinfo
from typing import Any, ClassVar, Final

import msgspec

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.cron_schedules import Schedule, parse
from fleetqueue.api.meta import Object, View, controller_reference
from fleetqueue.api.scheme import Manifest, Resource

SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class JobReference(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class CronJobSpec(View):
    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    successful_jobs_history_limit: int | None = None
    """None keeps all."""
    failed_jobs_history_limit: int | None = None
    job_template: dict[str, Any] = msgspec.field(default_factory=dict)


class CronJobStatus(View):
    active: tuple[JobReference, ...] = ()
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJob(Object):
    resource: ClassVar = Resource("batch", "v1", "CronJob", "cronjobs")

    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()

    @property
    def zone(self) -> tzinfo:
        """Raises ValueError, or LookupError, where there is no such zone."""
        if not self.spec.time_zone:
            return UTC
        from zoneinfo import ZoneInfo  # few CronJobs name a zone

        return ZoneInfo(self.spec.time_zone)

    def timetable(self) -> Schedule:
        """Raises ValueError where the schedule is none."""
        return parse(self.spec.schedule, self.zone)

    def job_name(self, moment: datetime) -> str:
        """Return how the Job of a moment is called: no moment can have two."""
        return f"{self.name}-{int(moment.timestamp()) // 60}"


def job_manifest(cron_job: CronJob, moment: datetime) -> Manifest:
    """Build the Job of a moment."""
    template = cron_job.spec.job_template
    given = template.get("metadata") or {}
    written = moment.astimezone(cron_job.zone).isoformat(timespec="seconds").replace("+00:00", "Z")
    manifest = Job.manifest(
        cron_job.job_name(moment),
        cron_job.namespace,
        labels=given.get("labels"),
        annotations={**(given.get("annotations") or {}), SCHEDULED: written},
        spec=template.get("spec") or {},
    )
    manifest["metadata"]["ownerReferences"] = [
        controller_reference(cron_job.resource, cron_job.name, cron_job.uid),
    ]
    return manifest


def reference_to(job: Job) -> Manifest:
    """Name a Job as the status of its CronJob does."""
    return {
        "apiVersion": job.resource.api_version,
        "kind": job.resource.kind,
        "name": job.name,
        "namespace": job.namespace,
        "uid": job.uid,
        "resourceVersion": job.metadata.resource_version,
    }

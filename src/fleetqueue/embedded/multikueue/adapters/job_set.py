"""JobSets.

Mirrors: Kueue pkg/controller/jobs/jobset/jobset_multikueue_adapter.go
"""

from datetime import datetime

from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue.adapters.interface import copied


class JobSets:
    kind = JobSet
    framework = "jobset.x-k8s.io/jobset"

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        made = copied(job, JobSet, workload, origin)
        made["spec"].pop("managedBy", None)
        return made

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        """Copy the status, but no restarts where there were none: Kueue writes what changed, and that is no change."""
        copied = copy.get("status") or {}
        if copied.get("restarts") or "restarts" in (job.get("status") or {}):
            return copied
        return {name: value for name, value in copied.items() if name != "restarts"}

    def has_ended(self, job: Manifest) -> bool:
        return JobSet.view(job).has_ended

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        status = job.get("status") or {}
        if not job["spec"].get("suspend"):
            return status
        counted = [{**each, "active": 0, "ready": 0} for each in status.get("replicatedJobsStatus") or ()]
        return {**status, "replicatedJobsStatus": counted} if counted else status

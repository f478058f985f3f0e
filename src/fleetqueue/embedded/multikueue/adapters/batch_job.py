"""Jobs of Kubernetes itself.

Mirrors: Kueue pkg/controller/jobs/job/job_multikueue_adapter.go
"""

from datetime import datetime
from typing import Final

from fleetqueue.api.batch_v1 import SUSPENDED, Job
from fleetqueue.api.condition_lists import says
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue.adapters.interface import copied
from fleetqueue.rules.stopped_jobs import has_ended, last_status, suspended

OWN_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
"""What Kubernetes writes into the template of a Job, and what is different on each cluster."""


class BatchJobs:
    kind = Job
    framework = "batch/job"

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        made = copied(job, Job, workload, origin, template=_foreign(job["spec"]["template"]))
        for own in ("managedBy", "selector"):
            made["spec"].pop(own, None)
        return made

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        """Copy the status, but not the start of a copy whose hub's job still has to be changed.

        A suspended Job that was started refuses changes; one that does not say that it is suspended does too, in
        Kubernetes 1.36. The hub's job starts soon, which wakes us again. Of one that is being stopped Kueue takes the
        start away; it must not come back from a copy whose own controller is slow, or both would write without end.
        """
        status = job.get("status") or {}
        if not job["spec"].get("suspend"):
            return _with_start_of(status, copy.get("status") or {})
        copied = copy.get("status") or {}
        if has_ended(copy):
            return copied
        if copy["spec"].get("suspend"):
            return {name: value for name, value in copied.items() if name != "startTime"}
        if says(job, SUSPENDED):
            return status
        return suspended(status, "MultiKueueAdapter", "Set by MultiKueue adapter", now)

    def has_ended(self, job: Manifest) -> bool:
        return has_ended(job)

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        return last_status(job, now)


def _with_start_of(status: Manifest, copied: Manifest) -> Manifest:
    """Keep when the hub's job was started: the worker may have started its copy anew, and that moment cannot change."""
    return {**copied, "startTime": status["startTime"]} if status.get("startTime") else copied


def _foreign(template: Manifest) -> Manifest:
    """Return a pod template without what the hub's Job has from the hub's own API server."""
    metadata = template.get("metadata") or {}
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name not in OWN_LABELS}
    rest = {name: value for name, value in metadata.items() if name != "labels"}
    return {**template, "metadata": {**rest, **({"labels": labels} if labels else {})}}

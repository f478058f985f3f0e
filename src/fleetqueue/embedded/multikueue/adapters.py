"""What MultiKueue must know of each kind of job. All of it is pure: from objects to objects.

Mirrors: Kueue pkg/controller/jobs/{job/job,jobset/jobset}_multikueue_adapter.go
"""

from datetime import datetime
from typing import Any, Final, Protocol

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import SUSPENDED, Job
from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.stopped_jobs import has_ended, last_status, suspended


class Adapter(Protocol):
    @property
    def kind(self) -> type[Object]: ...

    @property
    def framework(self) -> str:
        """Return the name by which Kueue's configuration knows it."""
        ...

    def copy(self, job: Manifest, workload: str, origin: str) -> Manifest:
        """Return what is created on a worker for a hub's job; the worker's Kueue then starts it."""
        ...

    def status(self, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
        """Return the status that the hub's job has to have, after that of its copy."""
        ...

    def has_ended(self, job: Manifest) -> bool: ...

    def last_status(self, job: Manifest, now: datetime) -> Manifest:
        """Return the status of a hub's job that was stopped and has no copy any more."""
        ...


def managed_by(job: Manifest) -> str:
    return str(job["spec"].get("managedBy") or "")


def copied(job: Manifest, kind: type[Object], workload: str, origin: str, **spec: Any) -> Manifest:
    """Return a job for a worker: without owners and finalizers, and bound to a Workload that is already there."""
    metadata = job["metadata"]
    return kind.manifest(
        metadata["name"],
        metadata["namespace"],
        labels={**(metadata.get("labels") or {}), kueue.ORIGIN_LABEL: origin},
        annotations={**(metadata.get("annotations") or {}), kueue.PREBUILT_WORKLOAD: workload},
        spec={**job["spec"], "suspend": True, **spec},
    )


def workload_of(job: Object) -> str:
    """Return the name of the Workload that a job on a worker belongs to; empty where it names none."""
    metadata = job.metadata
    return metadata.annotations.get(kueue.PREBUILT_WORKLOAD) or metadata.labels.get(kueue.PREBUILT_WORKLOAD) or ""


OWN_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
"""What Kubernetes writes into the template of a Job, and what is different on each cluster."""


class BatchJobAdapter:
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
        if is_true(job, SUSPENDED):
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


class JobSetAdapter:
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
        counted = [{**job_status, "active": 0, "ready": 0} for job_status in status.get("replicatedJobsStatus") or ()]
        return {**status, "replicatedJobsStatus": counted} if counted else status

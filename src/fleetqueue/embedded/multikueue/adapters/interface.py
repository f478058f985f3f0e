"""What MultiKueue must know of a kind of job. All of it is pure: from objects to objects."""

from datetime import datetime
from typing import Any, Protocol

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest


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

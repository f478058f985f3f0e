"""Jobs."""

from typing import ClassVar, Final

from fleetqueue.api.conditions import Condition, is_true
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"


class JobSpec(View):
    suspend: bool = False
    managed_by: str = ""


class JobStatus(View):
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()


class Job(Object):
    resource: ClassVar = Resource("batch", "v1", "Job", "jobs")

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def has_ended(self) -> bool:
        return any(is_true(self.status.conditions, kind) for kind in (COMPLETE, FAILED))

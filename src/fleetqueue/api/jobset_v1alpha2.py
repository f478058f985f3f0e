"""JobSets: Jobs that belong together."""

from typing import ClassVar, Final

from fleetqueue.api.conditions import Condition, is_true
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

COMPLETED: Final = "Completed"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
JOBSET_CONTROLLER: Final = "jobset.sigs.k8s.io/jobset-controller"


class JobSetSpec(View):
    suspend: bool = False
    managed_by: str = ""


class JobSetStatus(View):
    conditions: tuple[Condition, ...] = ()


class JobSet(Object):
    resource: ClassVar = Resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets")

    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()

    @property
    def has_ended(self) -> bool:
        return any(is_true(self.status.conditions, kind) for kind in (COMPLETED, FAILED))

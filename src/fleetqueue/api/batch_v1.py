"""Jobs."""

from typing import ClassVar

from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource


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

"""Which priority the Workload of a job gets."""

from collections.abc import Sequence
from typing import NamedTuple

from fleetqueue.api import errors
from fleetqueue.api.meta import Object
from fleetqueue.api.priority_classes import PriorityClass, WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.runtime.cluster import Cluster


class Priority(NamedTuple):
    value: int
    reference: Manifest | None
    """The class that it comes from."""

    @property
    def spec(self) -> Manifest:
        """The fields of a Workload."""
        return {"priority": self.value, **({"priorityClassRef": self.reference} if self.reference else {})}


def priority_of(hub: Cluster, job: Manifest, pod_sets: Sequence[Manifest]) -> Priority:
    """Find a job's priority: its own class, else that of its pods, else the default; raises NotFound."""
    if name := job_fields.priority_class(job):
        return _of(WorkloadPriorityClass, name, hub.get(WorkloadPriorityClass, name))
    names = [(each["template"].get("spec") or {}).get("priorityClassName") or "" for each in pod_sets]
    if name := next(filter(None, names), ""):
        return _of(PriorityClass, name, hub.get(PriorityClass, name))
    defaults = [each for each in hub.list(PriorityClass) if each.global_default]
    if defaults:
        lowest = min(defaults, key=lambda each: each.value)
        return _of(PriorityClass, lowest.name, lowest)
    return Priority(0, None)


def _of(kind: type[Object], name: str, found: PriorityClass | WorkloadPriorityClass | None) -> Priority:
    resource = kind.resource
    if found is None:
        raise errors.NotFound(f'{resource.plural}.{resource.group} "{name}" not found')
    return Priority(found.value, {"group": resource.group, "kind": resource.kind, "name": name})

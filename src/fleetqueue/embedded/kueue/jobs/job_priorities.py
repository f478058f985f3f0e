"""The priority of a job: that of its own class, or of its pods'.

Mirrors: Kueue pkg/util/priority
"""

from collections.abc import Sequence

from fleetqueue.api import errors
from fleetqueue.api.meta import Object
from fleetqueue.api.priority_classes import PriorityClass, WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.job_workloads import Priority
from fleetqueue.runtime.cluster import Cluster


def priority_of(hub: Cluster, job: Manifest, pod_sets: Sequence[Manifest], *, own_class: str = "") -> Priority:
    """Find a job's priority: its own class, else that of its pods, else the default; raises NotFound.

    `own_class` is a PriorityClass that the job names itself, before its pods do.
    """
    if name := job_fields.priority_class(job):
        return _of(WorkloadPriorityClass, name, hub.get(WorkloadPriorityClass, name))
    of_pods = [(item["template"].get("spec") or {}).get("priorityClassName") or "" for item in pod_sets]
    if name := next(filter(None, (own_class, *of_pods)), ""):
        return _of(PriorityClass, name, hub.get(PriorityClass, name))
    defaults = [item for item in hub.list(PriorityClass) if item.global_default]
    if defaults:
        lowest = min(defaults, key=lambda item: item.value)
        return _of(PriorityClass, lowest.name, lowest)
    return Priority(0, None)


def _of(kind: type[Object], name: str, priority_class: PriorityClass | WorkloadPriorityClass | None) -> Priority:
    resource = kind.resource
    if priority_class is None:
        raise errors.NotFound(f'{resource.plural}.{resource.group} "{name}" not found')
    return Priority(priority_class.value, {"group": resource.group, "kind": resource.kind, "name": name})

"""How important jobs are: Kubernetes' classes for pods, and Kueue's for Workloads."""

from typing import ClassVar

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource


class PriorityClass(Object):
    resource: ClassVar = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)

    value: int = 0
    global_default: bool = False


class WorkloadPriorityClass(Object):
    resource: ClassVar = Resource(
        "kueue.x-k8s.io", "v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False
    )

    value: int = 0

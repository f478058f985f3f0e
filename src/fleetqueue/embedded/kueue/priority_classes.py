"""Give the Workloads of a WorkloadPriorityClass its value, when that changes.

Reads:   WorkloadPriorityClass, Workload
Writes:  Workload (its priority)
Mirrors: Kueue pkg/controller/core/workloadpriorityclass_controller.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.metrics import Metrics

BY_CLASS: Final = "priority class"


class PriorityClassController(Controller):
    name = "workloadpriorityclasses"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        hub.informer(kueue.QueuedWorkload).store.add_index(BY_CLASS, _class_of)

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(WorkloadPriorityClass, by_key),)

    async def reconcile(self, key: str) -> None:
        priority_class = self.hub.get(WorkloadPriorityClass, key)
        if priority_class is None:
            return
        for workload in self.hub.by_index(kueue.QueuedWorkload, BY_CLASS, key):
            if workload.spec.priority != priority_class.value:
                patch = {"metadata": workload.precondition, "spec": {"priority": priority_class.value}}
                await self.hub.client.merge(workload.resource, workload.name, workload.namespace, patch)


def _class_of(workload: kueue.QueuedWorkload) -> Iterable[str]:
    if workload.spec.priority_class_ref.kind == WorkloadPriorityClass.resource.kind:
        yield workload.spec.priority_class_ref.name

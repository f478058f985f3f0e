"""Keep ResourceFlavors and AdmissionChecks until no ClusterQueue names them.

Reads:   ResourceFlavor, AdmissionCheck, ClusterQueue
Writes:  the finalizers of ResourceFlavors and AdmissionChecks
Mirrors: Kueue pkg/controller/core (resourceflavor, admissioncheck)
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.names import IN_USE
from fleetqueue.embedded.kueue.scheduling.readiness import flavor_names
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.metrics import Metrics

BY_FLAVOR: Final = "flavor"
BY_CHECK: Final = "check"

Named = Callable[[kueue.ClusterQueue], Iterable[str]]


class InUseController(Controller):
    """Holds objects of one kind that ClusterQueues name."""

    def __init__(self, hub: Cluster, metrics: Metrics, kind: type[Any], index: str, named: Named) -> None:
        super().__init__(hub, metrics)
        self.name = f"{kind.resource.plural}-in-use"
        self.kind = kind
        self.index = index
        self.named = named
        hub.informer(kueue.ClusterQueue).store.add_index(index, named)

    def watches(self) -> Iterable[Watch[Any]]:
        return Watch(self.kind, by_key), Watch(kueue.ClusterQueue, self.named, facts=self._facts)

    def _facts(self, queue: kueue.ClusterQueue) -> list[str]:
        return [*self.named(queue)]

    async def reconcile(self, key: str) -> None:
        found = self.hub.get(self.kind, key)
        if found is None:
            return
        if not found.is_deleting:
            await self.hub.add_finalizer(found, IN_USE)
        elif not self.hub.by_index(kueue.ClusterQueue, self.index, key):
            await self.hub.remove_finalizer(found, IN_USE)


def flavors_in_use(hub: Cluster, metrics: Metrics) -> InUseController:
    return InUseController(hub, metrics, kueue.ResourceFlavor, BY_FLAVOR, flavor_names)


def checks_in_use(hub: Cluster, metrics: Metrics) -> InUseController:
    return InUseController(hub, metrics, kueue.AdmissionCheck, BY_CHECK, check_names)


def check_names(queue: kueue.ClusterQueue) -> list[str]:
    return [check.name for check in queue.spec.admission_checks_strategy.admission_checks]

"""A stand-in for OCM's binding controller: it says of each binding whether its set is there."""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api.cluster_v1 import BOUND, ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.api.conditions import Condition
from fleetqueue.api.meta import split_key
from fleetqueue.runtime.controller import Controller, Watch, by_key


class BindingController(Controller):
    name = "bindings"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedClusterSetBinding, by_key)
        yield Watch(ManagedClusterSet, self._bindings)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        binding = self.hub.get(ManagedClusterSetBinding, name, namespace)
        if binding is None or binding.is_deleting:
            return
        chosen = self.hub.get(ManagedClusterSet, binding.spec.cluster_set)
        is_there = chosen is not None and not chosen.is_deleting
        said = Condition.true(BOUND, "ClusterSetBound", "") if is_there else Condition.false(BOUND, "NotFound", "")
        await self.hub.set_conditions(binding, binding.status.conditions, [said], {BOUND})

    def _bindings(self, chosen: ManagedClusterSet) -> Iterable[str]:
        found = self.hub.list(ManagedClusterSetBinding)
        return [each.key for each in found if each.spec.cluster_set == chosen.name]

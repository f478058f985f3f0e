"""Say of each binding whether the set that it binds exists.

Reads:   ManagedClusterSetBinding, ManagedClusterSet
Writes:  ManagedClusterSetBinding (condition Bound)
Mirrors: ocm pkg/registration/hub/managedclustersetbinding/controller.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api.cluster_v1 import ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.api.meta import split_key
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.writing import write_condition
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.metrics import Metrics

BY_SET: Final = "set"
"""An index of ManagedClusterSetBindings."""


class BindingController(Controller):
    name = "managed-cluster-set-bindings"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        hub.informer(ManagedClusterSetBinding).store.add_index(BY_SET, lambda binding: (binding.spec.cluster_set,))

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedClusterSetBinding, by_key)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(ManagedClusterSet).subscribe(self._changed)

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        binding = self.hub.get(ManagedClusterSetBinding, name, namespace)
        if binding is None:
            return
        exists = self.hub.get(ManagedClusterSet, binding.spec.cluster_set) is not None
        await write_condition(self.hub, binding, binding.status.conditions, messages.bound(exists))

    def _changed(self, old: ManagedClusterSet | None, new: ManagedClusterSet | None) -> None:
        """Wake the bindings of a set that came or went."""
        changed = old or new
        if changed is None or (old is not None and new is not None):
            return
        for binding in self.hub.by_index(ManagedClusterSetBinding, BY_SET, changed.name):
            self.wake(binding.key)

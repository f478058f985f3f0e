"""Keep the two cluster sets that every hub has: `default`, for clusters without another, and `global`, for all.

Reads:   ManagedClusterSet
Writes:  ManagedClusterSet
Mirrors: ocm pkg/registration/hub/managedclusterset/{default,global}_managedclusterset_controller.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue.api.cluster_v1 import ManagedClusterSet
from fleetqueue.api.meta import replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.names import AUTO_UPDATE, DEFAULT_SET, GLOBAL_SET
from fleetqueue.embedded.ocm.registration.writing import raw_of
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log

SELECTORS: Final[dict[str, Manifest]] = {
    DEFAULT_SET: {"selectorType": "ExclusiveClusterSetLabel"},
    GLOBAL_SET: {"selectorType": "LabelSelector", "labelSelector": {}},
}

log = Log("registration")


class BuiltInSetController(Controller):
    name = "built-in-cluster-sets"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedClusterSet, lambda each: (each.name,) if each.name in SELECTORS else ())

    def subscribe(self) -> None:
        super().subscribe()
        for name in SELECTORS:
            self.wake(name)  # nobody else tells us of a set that was never there

    async def reconcile(self, key: str) -> None:
        cluster_set = self.hub.get(ManagedClusterSet, key)
        if cluster_set is None:
            manifest = ManagedClusterSet.manifest(key, spec={"clusterSelector": SELECTORS[key]})
            await self.hub.client.create(ManagedClusterSet.resource, manifest)
            log.info("cluster set made", set=key)
        elif cluster_set.metadata.annotations.get(AUTO_UPDATE) != "false":
            await self._restore(cluster_set)

    async def _restore(self, cluster_set: ManagedClusterSet) -> None:
        """Take back a change of who belongs to it; all else may be changed."""
        spec = raw_of(self.hub, cluster_set).get("spec") or {}
        patch = replacement(spec.get("clusterSelector") or {}, SELECTORS[cluster_set.name])
        if not patch:
            return
        body = {"metadata": cluster_set.precondition, "spec": {"clusterSelector": patch}}
        await self.hub.client.merge(ManagedClusterSet.resource, cluster_set.name, "", body)
        log.info("cluster set restored", set=cluster_set.name)

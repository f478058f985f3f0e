"""Put an add-on onto the clusters that its Placements choose, and take it from all others.

Reads:   ClusterManagementAddOn, Placement, PlacementDecision, ManagedClusterAddOn
Writes:  ManagedClusterAddOns: makes and deletes them, and keeps their owner; ClusterManagementAddOn: its lifecycle
Mirrors: OCM pkg/addon/controllers/{addonmanagement,addonowner}, addon-framework controllers/cmamanagedby
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.addons import indexes
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log

log = Log("add-ons")


class InstallationController(Controller):
    """A key is the name of an add-on."""

    name = "add-on-installation"
    concurrency = 2

    def watches(self) -> Iterable[Watch[Any]]:
        return indexes.watches(self.hub)

    def subscribe(self) -> None:
        indexes.add_indexes(self.hub)
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        this = self.hub.get(addon.ClusterManagementAddOn, key)
        if this is None:
            return
        if not this.is_ours:
            await self._take_self_back(this)
            return
        owner = controller_reference(this.resource, this.name, this.uid)
        installed = {add_on.namespace: add_on for add_on in indexes.installed(self.hub, this.name)}
        if this.spec.install_strategy.type == "Placements":
            wanted = self._chosen(this)
            for name in sorted(wanted - installed.keys()):
                await self._create(this, name, owner)
            for name in sorted(installed.keys() - wanted):
                await self._delete(installed.pop(name))
        for add_on in installed.values():
            await self._own(add_on, owner)

    async def _take_self_back(self, this: addon.ClusterManagementAddOn) -> None:
        """Empty the word that a template looks after itself, as upstream does since nothing means it any more."""
        if this.is_from_template and this.metadata.annotations[addon.LIFECYCLE] == addon.SELF:
            patch = {"metadata": {**this.precondition, "annotations": {addon.LIFECYCLE: ""}}}
            await self.hub.client.merge(this.resource, this.name, "", patch)

    def _chosen(self, this: addon.ClusterManagementAddOn) -> set[str]:
        """Return the clusters that any of its Placements chose; one that is missing chooses none."""
        cluster_names: set[str] = set()
        for strategy in this.spec.install_strategy.placements:
            placement = self.hub.get(cluster.Placement, strategy.name, strategy.namespace)
            for decision in indexes.decisions(self.hub, placement) if placement else ():
                cluster_names |= {chosen.cluster_name for chosen in decision.status.decisions}
        return cluster_names

    async def _create(self, this: addon.ClusterManagementAddOn, cluster_name: str, owner: Manifest) -> None:
        manifest = addon.ManagedClusterAddOn.manifest(this.name, cluster_name, spec={})
        manifest["metadata"]["ownerReferences"] = [owner]
        try:
            await self.hub.client.create(addon.ManagedClusterAddOn.resource, manifest)
        except errors.AlreadyExists:
            return
        log.info("add-on installed", add_on=this.name, cluster=cluster_name)

    async def _delete(self, add_on: addon.ManagedClusterAddOn) -> None:
        if not add_on.is_deleting and await self.hub.client.delete_seen(add_on):
            log.info("add-on removed", add_on=add_on.name, cluster=add_on.namespace)

    async def _own(self, add_on: addon.ManagedClusterAddOn, owner: Manifest) -> None:
        if add_on.is_deleting or any(one.uid == owner["uid"] for one in add_on.metadata.owner_references):
            return
        raw = self.hub.raw(add_on)
        others = [
            one
            for one in raw["metadata"].get("ownerReferences") or ()
            if (one["kind"], one["name"]) != (owner["kind"], owner["name"])
        ]
        metadata = {**add_on.precondition, "ownerReferences": [*others, owner]}
        await self.hub.client.merge(add_on.resource, add_on.name, add_on.namespace, {"metadata": metadata})

"""Hold OCM's managed-serviceaccount add-on on a cluster while its tokens are in use.

Reads:   ManagedClusterAddOn
Writes:  a finalizer on it

When a ManagedCluster is deleted, OCM deletes its add-ons first, and works and rights only when these are gone. With the
agent go its accounts on the worker, long before jobs that run there have ended.
"""

from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.runtime.cluster import Cluster

ADD_ON: Final = "managed-serviceaccount"
IN_USE: Final = "fleetqueue.dev/credentials"
"""Finalizer on the ManagedClusterAddOn of a cluster: a credential of ours comes from there, and is in use."""


class HeldAddOns:
    """All that is left of managed service accounts on a hub that does not serve them any more: finalizers to remove."""

    def __init__(self, hub: Cluster) -> None:
        self._hub = hub
        self._released: set[str] = set()
        """Clusters whose add-on is not held; only `hold` changes that, so they are not asked for at every event."""

    async def hold(self, cluster: str) -> None:
        """Let nobody take the add-on away."""
        add_on = await self.find(cluster)
        if add_on is not None and not add_on.is_deleting:
            self._released.discard(cluster)
            await self._hub.add_finalizer(add_on, IN_USE)

    async def withdraw(self, cluster: str, *, is_gone: bool) -> bool:
        """Let the add-on go; return whether it was held."""
        if cluster in self._released:
            return False
        add_on = await self.find(cluster)
        was_held = add_on is not None and await self._hub.remove_finalizer(add_on, IN_USE)
        if not is_gone:
            self._released.add(cluster)
        return was_held

    async def find(self, cluster: str) -> ManagedClusterAddOn | None:
        """Read the add-on of a cluster, live: to follow those of a thousand clusters for this would cost more."""
        try:
            return ManagedClusterAddOn.view(await self._hub.client.get(ManagedClusterAddOn.resource, ADD_ON, cluster))
        except errors.NotFound:
            return None  # installed in another way, or no add-ons are served

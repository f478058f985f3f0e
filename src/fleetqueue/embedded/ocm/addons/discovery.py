"""Say on each ManagedCluster which add-ons it has and how they are, and of the add-ons of a silent cluster nothing.

Reads:   ManagedCluster, ManagedClusterAddOn
Writes:  ManagedCluster labels `feature.open-cluster-management.io/addon-<name>`; ManagedClusterAddOn: Available
Mirrors: OCM pkg/registration/hub/addon
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition, find
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.statuses import write_condition

FEATURE: Final = "feature.open-cluster-management.io/addon-"
BETWEEN_CHANGES: Final = timedelta(seconds=1)
"""Without a pause, two that know different things would answer each other as fast as they can."""
_WORDS: Final = {TRUE: "available", FALSE: "unhealthy"}

log = Log("add-ons")


class AddOnFeatureDiscoveryController(Controller):
    """A key is the name of a cluster."""

    name = "add-ons-of-cluster"

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(cluster.ManagedCluster, lambda each: (each.name,)),
            Watch(addon.ManagedClusterAddOn, lambda each: (each.namespace,)),
        )

    async def reconcile(self, key: str) -> None:
        this = self.hub.get(cluster.ManagedCluster, key)
        available = find(this.status.conditions, cluster.AVAILABLE) if this is not None else None
        if this is None or available is None:
            return
        add_ons = self.hub.list(addon.ManagedClusterAddOn, this.name)
        if available.status == UNKNOWN:
            for registration in add_ons:
                await self._silence(registration, available)
        if not this.is_deleting:
            await self._label(this, add_ons)

    async def _silence(self, add_on: addon.ManagedClusterAddOn, of_cluster: Condition) -> None:
        """Nobody can say how an add-on is on a cluster of which nobody knows how it is.

        The add-on manager, where it does not know yet that the cluster is silent or knows already that it is back, says
        otherwise at once.
        """
        live = find(add_on.status.conditions, addon.AVAILABLE)
        since = live.last_transition_time if live is not None and live.status != UNKNOWN else None
        if since is not None and clock.now() < since + BETWEEN_CHANGES:
            raise errors.RetryLater(BETWEEN_CHANGES.total_seconds(), f"{add_on} has just changed")
        condition = Condition(
            type=addon.AVAILABLE, status=of_cluster.status, reason=of_cluster.reason, message=of_cluster.message
        )
        await write_condition(self.hub, add_on, condition)

    async def _label(self, this: cluster.ManagedCluster, add_ons: Sequence[addon.ManagedClusterAddOn]) -> None:
        wanted = labels(add_ons)
        live = {name: value for name, value in this.metadata.labels.items() if name.startswith(FEATURE)}
        patch = {name: None for name in live if name not in wanted} | {
            name: value for name, value in wanted.items() if live.get(name) != value
        }
        if patch:
            metadata = {**this.precondition, "labels": patch}
            await self.hub.client.merge(this.resource, this.name, "", {"metadata": metadata})
            log.info("add-ons noted", cluster=this.name, add_ons=len(wanted))


def labels(add_ons: Iterable[addon.ManagedClusterAddOn]) -> dict[str, str]:
    """Return a label for each add-on that stays; one that says nothing cannot be reached."""
    feature_labels = {}
    for add_on in add_ons:
        condition = find(add_on.status.conditions, addon.AVAILABLE)
        if not add_on.is_deleting:
            feature_labels[FEATURE + add_on.name] = _WORDS.get(
                condition.status if condition else UNKNOWN, "unreachable"
            )
    return feature_labels

"""Say whether add-ons on a cluster live, by the leases that they renew there.

Reads:   ManagedClusterAddOn of one cluster on the hub; Lease on the worker
Writes:  ManagedClusterAddOn status: the condition Available
Mirrors: OCM pkg/registration/spoke/addon/lease_controller.go

An add-on that is deployed by a template says how it is through its works; it is not looked at here.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import errors
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import FALSE, TRUE, UNKNOWN, Condition
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.embedded.ocm.addons.live_status import live_status
from fleetqueue.embedded.ocm.addons.settings import AddOnAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import write_status


class LeaseHealthController(Controller):
    """A key is the name of an add-on."""

    name = "add-on-lease-health"

    def __init__(self, hub: Cluster, worker: Cluster, metrics: Metrics, settings: AddOnAgentSettings) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        return (Watch(addon.ManagedClusterAddOn, lambda each: (each.name,), namespace=self.settings.cluster),)

    async def reconcile(self, key: str) -> None:
        this = self.hub.get(addon.ManagedClusterAddOn, key, self.settings.cluster)
        if this is None or this.status.health_check.mode == addon.CUSTOMIZED:
            return
        said = health(this.name, await self._lease(this), clock.now(), self.settings.lease_grace)
        live = live_status(self.hub, this, namespace=self.settings.cluster)
        conditions = with_conditions(live.get("conditions") or [], [said], clock.now())
        await write_status(self.hub, this, live, {**live, "conditions": conditions})
        raise errors.RetryLater(self.settings.lease_interval, "a lease may end")

    async def _lease(self, this: addon.ManagedClusterAddOn) -> Lease | None:
        try:
            return Lease.view(await self.worker.client.get(Lease.resource, this.name, this.install_namespace))
        except errors.NotFound:
            return None


def health(name: str, lease: Lease | None, now: datetime, grace: float) -> Condition:
    if lease is None:
        said = (UNKNOWN, "ManagedClusterAddOnLeaseNotFound", f"The status of {name} add-on is unknown.")
    elif lease.spec.renew_time is not None and now < lease.spec.renew_time + timedelta(seconds=grace):
        said = (TRUE, "ManagedClusterAddOnLeaseUpdated", f"{name} add-on is available.")
    else:
        said = (FALSE, "ManagedClusterAddOnLeaseUpdateStopped", f"{name} add-on is not available.")
    status, reason, message = said
    return Condition(type=addon.AVAILABLE, status=status, reason=reason, message=message)

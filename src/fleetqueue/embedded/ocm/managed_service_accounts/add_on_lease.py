"""Say on the worker that the add-on's agent is alive; OCM's registration agent makes Available of it.

Writes:  Lease `managed-serviceaccount` (worker, the add-on's namespace)
Mirrors: addon-framework pkg/lease
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.managed_service_account_v1beta1 import ADD_ON
from fleetqueue.embedded.ocm.managed_service_accounts.settings import AgentAccountSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.metrics import Metrics

DURATION: Final = 60
"""Seconds, as every add-on of OCM writes it."""
SPREAD: Final = 1.25
"""By how much a pause between two renewals may be longer, so that not all agents write at once."""


class AddOnLeaseController(Controller):
    name = "managed-service-account-lease"

    def __init__(self, worker: Cluster, hub: Cluster, metrics: Metrics, settings: AgentAccountSettings) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings

    def watches(self) -> Iterable[Watch[Any]]:
        return ()

    async def work(self) -> None:
        self.wake(ADD_ON)
        await super().work()

    async def reconcile(self, key: str) -> None:
        await self._renew(key)
        pause = clock.between(self.settings.lease_seconds, SPREAD * self.settings.lease_seconds)
        raise errors.RetryLater(pause, "the next renewal")

    async def _renew(self, name: str) -> None:
        client, namespace = self.worker.client, self.settings.namespace
        moment = clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        try:
            await client.merge(Lease.resource, name, namespace, {"spec": {"renewTime": moment}})
        except errors.NotFound:
            spec = {"leaseDurationSeconds": DURATION, "renewTime": moment}
            await client.create(Lease.resource, Lease.manifest(name, namespace, spec=spec))

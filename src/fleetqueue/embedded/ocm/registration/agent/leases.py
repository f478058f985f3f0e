"""Renew the worker's lease on the hub, so that it is known that somebody is there.

Reads:   ManagedCluster, Lease (hub)
Writes:  Lease (hub)
Mirrors: ocm pkg/registration/spoke/lease/lease_controller.go
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ACCEPTED, ManagedCluster
from fleetqueue.api.conditions import is_true
from fleetqueue.embedded.ocm.registration.agent.statuses import only
from fleetqueue.embedded.ocm.registration.names import LEASE
from fleetqueue.embedded.ocm.registration.objects import ClusterLease
from fleetqueue.embedded.ocm.registration.writing import micro_time
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.metrics import Metrics

KEY: Final = "lease"
SPREAD: Final = 0.25
"""So much longer it may take at most, so that not all workers renew at once."""


class LeaseRenewal(Controller):
    name = "managed-cluster-lease"

    def __init__(self, hub: Cluster, metrics: Metrics, cluster: str) -> None:
        super().__init__(hub, metrics)
        self.cluster = cluster
        self._seconds = 0
        self._due = 0.0

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, lambda cluster: (KEY,), fields=only(self.cluster))

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, self.cluster)
        if cluster is None or not is_true(cluster.status.conditions, ACCEPTED):
            self._seconds = 0
            return
        seconds = cluster.spec.lease_seconds
        if seconds != self._seconds or clock.monotonic() >= self._due:
            await self._renew()
            self._seconds = seconds
            self._due = clock.monotonic() + seconds * clock.between(1, 1 + SPREAD)
        raise errors.RetryLater(self._due - clock.monotonic(), "the next renewal")

    async def _renew(self) -> None:
        lease = await self.hub.client.get(ClusterLease.resource, LEASE, self.cluster)
        renewed = {**lease, "spec": {**lease["spec"], "renewTime": micro_time()}}
        await self.hub.client.update(ClusterLease.resource, renewed)

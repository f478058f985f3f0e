"""Say whether the clocks of hub and worker agree, by what time it was on the worker when it renewed its lease.

Reads:   ManagedCluster, Lease
Writes:  ManagedCluster (condition ManagedClusterConditionClockSynced)
Mirrors: ocm pkg/registration/hub/lease/clocksynccontroller.go
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fleetqueue import clock
from fleetqueue.api.cluster_v1 import CLOCK_SYNCED, ManagedCluster
from fleetqueue.api.conditions import Condition, find
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.hub.leases import cluster_of_lease, grace
from fleetqueue.embedded.ocm.registration.names import LEASE, OF_CLUSTERS
from fleetqueue.embedded.ocm.registration.objects import ClusterLease
from fleetqueue.embedded.ocm.registration.writing import write_condition
from fleetqueue.runtime.controller import Controller, Watch


class ClockController(Controller):
    name = "managed-cluster-clocks"

    def watches(self) -> Iterable[Watch[Any]]:
        """Only a renewal tells the time: see `subscribe`."""
        yield Watch(ManagedCluster, lambda cluster: ())

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(ClusterLease, labels=OF_CLUSTERS).subscribe(self._changed)

    def _changed(self, old: ClusterLease | None, new: ClusterLease | None) -> None:
        if old is not None and new is not None and old.spec.renew_time != new.spec.renew_time:
            for cluster in cluster_of_lease(new):
                self.wake(cluster)

    async def reconcile(self, key: str) -> None:
        cluster, lease = self.hub.get(ManagedCluster, key), self.hub.get(ClusterLease, LEASE, key)
        if cluster is None or lease is None or lease.spec.renew_time is None:
            return
        wanted = verdict(cluster, lease.spec.renew_time, clock.now())
        said = find(cluster.status.conditions, CLOCK_SYNCED)
        if said is None or said.status != wanted.status:
            await write_condition(self.hub, cluster, cluster.status.conditions, wanted)


def verdict(cluster: ManagedCluster, renewed: datetime, now: datetime) -> Condition:
    """Compare the worker's time with ours at the moment when we hear of it."""
    return messages.clock_synced() if abs(now - renewed) < grace(cluster) else messages.clock_out_of_sync()

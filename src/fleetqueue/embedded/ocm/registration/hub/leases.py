"""Notice agents that are not heard of any more, and clocks that differ, by the leases that agents renew.

Reads:   ManagedCluster, Lease
Writes:  Lease (the first one), ManagedCluster (conditions ManagedClusterConditionAvailable=Unknown and
         ManagedClusterConditionClockSynced), Events
Mirrors: ocm pkg/registration/hub/lease/{controller,clocksynccontroller}.go

Only the agent says that its cluster is available again.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.cluster_v1 import ACCEPTED, AVAILABLE, CLOCK_SYNCED, CLUSTER_NAME_LABEL, ManagedCluster
from fleetqueue.api.conditions import Condition, find, micro_timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.ensured_objects import in_its_namespace
from fleetqueue.embedded.ocm.registration.hub.managed_clusters import cluster_of
from fleetqueue.embedded.ocm.registration.names import LEASE, OF_CLUSTERS
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import write_condition

MISSED: Final = 5
"""So many renewals may be missed."""

log = Log("registration")


class LeaseController(Controller):
    name = "managed-cluster-leases"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = SeriesRecorder(hub.client, "registration-controller")

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, by_key)
        yield Watch(Lease, cluster_of_lease, labels=OF_CLUSTERS)

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, key)
        if cluster is None or conditions.find(cluster.status.conditions, ACCEPTED) is None:
            return
        lease = self.hub.get(Lease, LEASE, key)
        if lease is None and not cluster.is_deleting:
            await self.hub.client.create(Lease.resource, new_lease(key))
            return
        left = seconds_left(cluster, lease)
        if left <= 0:
            await self._give_up(cluster)
        elif lease is not None:
            raise errors.RetryLater(left, "it has to be renewed until then")

    async def _give_up(self, cluster: ManagedCluster) -> None:
        condition = conditions.find(cluster.status.conditions, AVAILABLE)
        if condition is not None and condition.status == conditions.UNKNOWN:
            return
        await write_condition(self.hub, cluster, messages.silent())
        log.warning("cluster is not heard of any more", cluster=cluster.name)
        reason, note = messages.said_silent(cluster.name)
        await self.events.warning(in_its_namespace(cluster), reason, note)


def cluster_of_lease(lease: Lease) -> Iterable[str]:
    return cluster_of(lease) if lease.name == LEASE else ()


def grace(cluster: ManagedCluster) -> timedelta:
    """Return how long an agent may be silent."""
    return timedelta(seconds=MISSED * cluster.spec.lease_seconds)


def seconds_left(cluster: ManagedCluster, lease: Lease | None) -> float:
    """Return until when a lease has to be renewed; no time is left where there is none."""
    if lease is None or lease.spec.renew_time is None:
        return 0.0
    return (lease.spec.renew_time + grace(cluster) - clock.now()).total_seconds()


def new_lease(cluster: str) -> Manifest:
    spec = {"holderIdentity": LEASE, "renewTime": micro_timestamp(clock.now())}
    return Lease.manifest(LEASE, cluster, labels={CLUSTER_NAME_LABEL: cluster}, spec=spec)


class ClockController(Controller):
    """Says whether the clocks agree, by what time it was on the worker when it renewed its lease."""

    name = "managed-cluster-clocks"

    def watches(self) -> Iterable[Watch[Any]]:
        """Only a renewal tells the time: see `subscribe`."""
        yield Watch(ManagedCluster)

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(Lease, labels=OF_CLUSTERS).subscribe(self._changed)

    def _changed(self, old: Lease | None, new: Lease | None) -> None:
        if old is not None and new is not None and old.spec.renew_time != new.spec.renew_time:
            for cluster in cluster_of_lease(new):
                self.wake(cluster)

    async def reconcile(self, key: str) -> None:
        cluster, lease = self.hub.get(ManagedCluster, key), self.hub.get(Lease, LEASE, key)
        if cluster is None or lease is None or lease.spec.renew_time is None:
            return
        wanted = verdict(cluster, lease.spec.renew_time, clock.now())
        condition = find(cluster.status.conditions, CLOCK_SYNCED)
        if condition is None or condition.status != wanted.status:
            await write_condition(self.hub, cluster, wanted)


def verdict(cluster: ManagedCluster, renewed: datetime, now: datetime) -> Condition:
    """Compare the worker's time with ours at the moment when we hear of it."""
    return messages.clock_synced() if abs(now - renewed) < grace(cluster) else messages.clock_out_of_sync()

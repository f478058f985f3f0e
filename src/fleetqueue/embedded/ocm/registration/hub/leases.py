"""Notice agents that are not heard of any more: their clusters become Available=Unknown.

Reads:   ManagedCluster, Lease
Writes:  Lease (the first one), ManagedCluster (condition ManagedClusterConditionAvailable), Events
Mirrors: ocm pkg/registration/hub/lease/controller.go

Only the agent says that its cluster is available again.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import conditions, errors
from fleetqueue.api.cluster_v1 import ACCEPTED, AVAILABLE, CLUSTER_NAME_LABEL, ManagedCluster
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.hub.managed_clusters import cluster_of
from fleetqueue.embedded.ocm.registration.names import LEASE, OF_CLUSTERS
from fleetqueue.embedded.ocm.registration.objects import ClusterLease
from fleetqueue.embedded.ocm.registration.writing import in_its_namespace, micro_time, write_condition
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

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
        yield Watch(ClusterLease, cluster_of_lease, labels=OF_CLUSTERS)

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, key)
        if cluster is None or conditions.find(cluster.status.conditions, ACCEPTED) is None:
            return
        lease = self.hub.get(ClusterLease, LEASE, key)
        if lease is None and not cluster.is_deleting:
            await self.hub.client.create(ClusterLease.resource, new_lease(key))
            return
        left = seconds_left(cluster, lease)
        if left <= 0:
            await self._give_up(cluster)
        elif lease is not None:
            raise errors.RetryLater(left, "it has to be renewed until then")

    async def _give_up(self, cluster: ManagedCluster) -> None:
        said = conditions.find(cluster.status.conditions, AVAILABLE)
        if said is not None and said.status == conditions.UNKNOWN:
            return
        await write_condition(self.hub, cluster, cluster.status.conditions, messages.silent())
        log.warning("cluster is not heard of any more", cluster=cluster.name)
        reason, note = messages.said_silent(cluster.name)
        await self.events.warning(in_its_namespace(cluster), reason, note)


def cluster_of_lease(lease: ClusterLease) -> Iterable[str]:
    return cluster_of(lease) if lease.name == LEASE else ()


def grace(cluster: ManagedCluster) -> timedelta:
    """Return how long an agent may be silent."""
    return timedelta(seconds=MISSED * cluster.spec.lease_seconds)


def seconds_left(cluster: ManagedCluster, lease: ClusterLease | None) -> float:
    """Return until when a lease has to be renewed; no time is left where there is none."""
    if lease is None or lease.spec.renew_time is None:
        return 0.0
    return (lease.spec.renew_time + grace(cluster) - clock.now()).total_seconds()


def new_lease(cluster: str) -> Manifest:
    spec = {"holderIdentity": LEASE, "renewTime": micro_time()}
    return ClusterLease.manifest(LEASE, cluster, labels={CLUSTER_NAME_LABEL: cluster}, spec=spec)

"""Say on the hub that the worker is there (its lease) and how it is: health of its API, version, resources, claims.

Reads:   ManagedCluster, Lease (hub); Node, ClusterClaim, Namespace, /livez and /version (worker)
Writes:  ManagedCluster status, Lease, Events (hub); Namespace (worker)
Mirrors: ocm pkg/registration/spoke/{managedcluster,lease}
"""

import hashlib
from collections.abc import Iterable
from math import inf
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.cluster_claims_v1alpha1 import ClusterClaim
from fleetqueue.api.cluster_v1 import ACCEPTED, ManagedCluster
from fleetqueue.api.conditions import FALSE, TRUE, Condition, is_true, micro_timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.agent import reporting
from fleetqueue.embedded.ocm.registration.agent.reporting import WorkerState
from fleetqueue.embedded.ocm.registration.ensured_objects import in_its_namespace
from fleetqueue.embedded.ocm.registration.names import LEASE, NAMESPACE_LABEL
from fleetqueue.embedded.ocm.registration.objects import WorkerNode
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.events import SeriesRecorder
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import live_status, write_status

KEY: Final = "status"
"""There is one thing to keep right, so one key."""
LONGEST_NAME: Final = 63

BETWEEN_NEWS: Final = 1.0
"""Seconds between two reports that the worker is, or is not, available: a hub that has not heard of it for too long
says otherwise at once, until its Lease is renewed."""

log = Log("registration-agent")


class StatusController(Controller):
    name = "managed-cluster-status"

    def __init__(
        self, worker: Cluster, hub: Cluster, metrics: Metrics, settings: RegistrationAgentSettings, *, hub_url: str
    ) -> None:
        super().__init__(hub, metrics)
        self.worker = worker
        self.settings = settings
        self.namespace_label = namespace_label(hub_url)
        self.events = SeriesRecorder(hub.client, "klusterlet-agent")
        self._told = -inf
        """When it was last said that the worker is, or is not, available."""

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, lambda cluster: (KEY,), fields=only(self.settings.cluster))

    def subscribe(self) -> None:
        super().subscribe()
        self.worker.informer(WorkerNode).subscribe(self._see_node)
        self.worker.informer(ClusterClaim).subscribe(lambda old, new: self.wake(KEY))
        self._namespaces.subscribe(lambda old, new: self.wake(KEY))

    @property
    def _namespaces(self) -> Informer[Namespace]:
        """Those that cluster sets asked for."""
        return self.worker.informer(Namespace, labels=f"{self.namespace_label}=true")

    def _see_node(self, old: WorkerNode | None, new: WorkerNode | None) -> None:
        """Nodes say often that they are there, and seldom that they have more or less."""
        if old is None or new is None or (old.spec, old.status) != (new.spec, new.status):
            self.wake(KEY)

    async def reconcile(self, key: str) -> None:
        cluster = self.hub.get(ManagedCluster, self.settings.cluster)
        if cluster is None:
            return
        live = live_status(self.hub, cluster)
        if reporting.is_accepted(live):
            await self._report(cluster, live)
        raise errors.RetryLater(self.settings.health_seconds, "the next look at the worker's health")

    async def _report(self, cluster: ManagedCluster, live: Manifest) -> None:
        wanted = reporting.reported(live, await self._look(), self.settings, clock.now())
        names = (
            {namespace.name for namespace in cluster.status.managed_namespaces} if not cluster.is_deleting else set()
        )
        namespaces = {name: await self._ensure_namespace(name) for name in sorted(names)}
        await self._release_namespaces(names)
        if not cluster.is_deleting:
            wanted = reporting.with_namespaces(wanted, namespaces, clock.now())
        if reporting.is_out_of_sync(live):
            log.warning("status not reported", cluster=cluster.name, why="the clocks of hub and worker differ")
            return
        news = reporting.news(live, wanted)
        if news and clock.monotonic() < self._told + BETWEEN_NEWS:
            raise errors.RetryLater(BETWEEN_NEWS, "the hub has just said otherwise: its Lease is not renewed yet")
        if await write_status(self.hub, cluster, live, wanted):
            self._told = clock.monotonic() if news else self._told
            await self._tell(cluster, news)

    async def _look(self) -> WorkerState:
        client = self.worker.client
        health = await health_of(client)
        version = (await client.read("/version"))["gitVersion"] if health.is_true else ""
        return WorkerState(health, version, self.worker.list(WorkerNode), self.worker.list(ClusterClaim))

    async def _tell(self, cluster: ManagedCluster, available: str) -> None:
        about = in_its_namespace(cluster)
        if available == TRUE:
            await self.events.normal(about, *messages.said_available(cluster.name))
        elif available == FALSE:
            await self.events.warning(about, *messages.said_unavailable(cluster.name))

    async def _ensure_namespace(self, name: str) -> Condition:
        """Make a namespace that a set wants on its clusters, or mark the one that is there."""
        known = self._namespaces.store.get(name)
        if known is not None and known.metadata.labels.get(self.namespace_label) == "true":
            return messages.namespace_applied()
        try:
            await self._label(name, "true")
        except errors.ApiError as error:
            return messages.namespace_not_applied(str(error))
        return messages.namespace_applied()

    async def _release_namespaces(self, wanted: set[str]) -> None:
        """Mark what no set wants any more: it stays, with all that is in it."""
        for namespace in self._namespaces.store.all():
            is_marked = namespace.metadata.labels.get(self.namespace_label) == "true"
            if is_marked and namespace.name not in wanted:
                await self._label(namespace.name, "false")

    async def _label(self, name: str, value: str) -> None:
        labels = {self.namespace_label: value}
        try:
            await self.worker.client.merge(Namespace.resource, name, "", {"metadata": {"labels": labels}})
        except errors.NotFound:
            await self.worker.client.create(Namespace.resource, Namespace.manifest(name, labels=labels))


async def health_of(worker: Client) -> Condition:
    """Ask an API whether it is well; one that cannot be asked is not."""
    for path in ("/livez", "/healthz"):
        try:
            await worker.read(path)
        except (errors.NotFound, errors.Forbidden) as error:
            problem = messages.unavailable(error.code, str(error))  # an old server, which may know the other path
        except errors.ApiError as error:
            return messages.unavailable(error.code, str(error))
        except errors.Unreachable as error:
            return messages.unavailable(0, str(error))
        else:
            return messages.available()
    return problem


def only(name: str) -> str:
    """Return the field selector of one object."""
    return f"metadata.name={name}"


def namespace_label(hub_url: str) -> str:
    """Return the label of the namespaces that a hub's sets want; a worker may know several hubs."""
    return NAMESPACE_LABEL + hashlib.sha256(hub_url.encode()).hexdigest()[:LONGEST_NAME]


LEASE_KEY: Final = "lease"
SPREAD: Final = 0.25
"""So much longer it may take at most, so that not all workers renew at once."""


class LeaseRenewal(Controller):
    """Renews the worker's lease on the hub, so that the hub knows that the agent runs."""

    name = "managed-cluster-lease"

    def __init__(self, hub: Cluster, metrics: Metrics, cluster: str) -> None:
        super().__init__(hub, metrics)
        self.cluster = cluster
        self._seconds = 0
        self._due = 0.0

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(ManagedCluster, lambda cluster: (LEASE_KEY,), fields=only(self.cluster))

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
        lease = await self.hub.client.get(Lease.resource, LEASE, self.cluster)
        renewed = {**lease, "spec": {**lease["spec"], "renewTime": micro_timestamp(clock.now())}}
        await self.hub.client.update(Lease.resource, renewed)

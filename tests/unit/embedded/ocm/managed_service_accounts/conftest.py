"""A hub and two workers in virtual time, with the add-on's two halves at work where a test wants them."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.inventory_v1alpha1 import MANAGER_LABEL, OCM_CLUSTER_LABEL, OCM_MANAGER, ClusterProfile
from fleetqueue.api.managed_service_account_v1beta1 import AGENT_NAMESPACE, ManagedServiceAccount
from fleetqueue.client.kubeconfig import Connection, parse
from fleetqueue.embedded.ocm.managed_service_accounts import wiring
from fleetqueue.embedded.ocm.managed_service_accounts.settings import AgentAccountSettings, HubAccountSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from tests.invariants.second_look import managed

CLUSTER, NAME = "cluster1", "app"
LABELS = {MANAGER_LABEL: OCM_MANAGER, OCM_CLUSTER_LABEL: CLUSTER}


def profile_manifest(namespace="kueue-system", *, name=CLUSTER, labels=None):
    spec = {"displayName": name, "clusterManager": {"name": OCM_MANAGER}}
    return ClusterProfile.manifest(name, namespace, labels=LABELS if labels is None else labels, spec=spec)


def account_manifest(name=NAME, *, validity="1h0m0s", labels=None, **spec):
    return ManagedServiceAccount.manifest(
        name, CLUSTER, labels=labels, spec={"rotation": {"enabled": True, "validity": validity}, **spec}
    )


class Environment:
    """What a test arranges and looks at."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.hub = fleet.hub
        self.worker = fleet[CLUSTER]
        self.admin = parse(self.worker.kubeconfig)
        self.ca = self.admin.ca.decode()
        self.hub.namespace(*(worker.name for worker in fleet.workers))
        self.worker.namespace(AGENT_NAMESPACE)

    @asynccontextmanager
    async def agent(self, *, settled=True, **settings):
        """Let the agent of the first worker work while the body runs."""
        worker, hub = Cluster(CLUSTER, self.worker.client()), Cluster("hub", self.hub.client())
        wanted = AgentAccountSettings(ca=self.ca, **settings)
        controllers = wiring.agent_controllers(worker, hub, Metrics(), wanted)
        async with managed(Manager(hub, controllers), worker):
            if settled:
                await self.fleet.settle()
            yield self

    @asynccontextmanager
    async def hub_half(self, **settings):
        hub = Cluster("hub", self.hub.client())
        async with managed(Manager(hub, wiring.hub_controllers(hub, Metrics(), HubAccountSettings(**settings)))):
            await self.fleet.settle()
            yield self

    def as_holder(self, token):
        """Return a client of the worker for whoever holds a token."""
        return self.fleet.dial(Connection(self.admin.server, ca=self.admin.ca, token=token))

    def account(self, name=NAME):
        return self.hub.get(ManagedServiceAccount, name, CLUSTER)

    def said(self, name=NAME):
        """Return what the account says: (type, status, reason, message) of each condition."""
        found = self.account(name).status.conditions
        return [(each.type, each.status, each.reason, each.message) for each in found]

    def token(self, name=NAME):
        secret = self.hub.get(Secret, name, CLUSTER)
        return secret.text("token") if secret else None

    def worker_account(self, name=NAME):
        return self.worker.get(ServiceAccount, name, AGENT_NAMESPACE)

    def clear(self):
        self.hub.writes.clear()
        self.worker.writes.clear()

    def writes(self):
        """Return what was written since, without the lease of the add-on."""
        return [each for each in (*self.hub.writes, *self.worker.writes) if " leases/" not in each]


@pytest.fixture
def env(fleet):
    return Environment(fleet)

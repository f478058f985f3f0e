"""A hub where registration runs, and workers whose agents come to it, all in one process and in virtual time."""

from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

from fleetqueue.api.authentication_v1 import issued_token, token_request
from fleetqueue.api.cluster_v1 import GROUP, ManagedCluster
from fleetqueue.api.conditions import find
from fleetqueue.api.core_v1 import Secret, ServiceAccount, secret
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import render
from fleetqueue.embedded.ocm.registration import wiring
from fleetqueue.embedded.ocm.registration.names import AGENT_NAMESPACE, BOOTSTRAP_SECRET
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings, RegistrationHubSettings
from fleetqueue.fleets.embedded import CA
from fleetqueue.fleets.faults import FaultyDoor, Way
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import running
from tests.invariants import Broken
from tests.invariants.second_look import managed

HUB_URL = "https://hub.embedded:6443"
SYSTEM = "open-cluster-management"
ACCOUNT = "agent-registration-bootstrap"
BOOTSTRAP = "open-cluster-management:bootstrap"
READS = ["get", "list", "watch"]
RULES = [
    {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create", *READS]},
    {"apiGroups": [GROUP], "resources": ["managedclusters"], "verbs": ["create", *READS]},
    {"apiGroups": [GROUP], "resources": ["managedclustersets/join"], "verbs": ["create"]},
]


class Agent(NamedTuple):
    work: Any
    clients: list[Client]
    """As which it came to the hub, one after the other."""
    settings: dict[str, Any]


class World:
    def __init__(self, fleet):
        self.fleet = fleet
        self.hub = fleet.hub
        self.ways = {}
        """By which each worker's agent comes to the hub."""
        self.agents = {}
        self._open = AsyncExitStack()

    @classmethod
    @asynccontextmanager
    async def open(cls, fleet, settings=None):
        """Run registration on the hub."""
        world = cls(fleet)
        client = Client(InProcessDoor(fleet.hub.server.api, fleet.hub.server.door.credentials))
        hub = Cluster("hub", client)
        controllers = wiring.hub_controllers(hub, Metrics(), settings or RegistrationHubSettings())
        world.prepare()
        async with world._open:
            await world._open.enter_async_context(managed(Manager(hub, controllers)))
            await fleet.settle()
            yield world
            await world.look_again()

    def prepare(self):
        """Arrange what `clusteradm init` leaves for agents that are to come."""
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": BOOTSTRAP}
        subjects = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": SYSTEM}]
        self.hub.namespace(SYSTEM)
        self.hub.add(
            ServiceAccount.manifest(ACCOUNT, SYSTEM),
            ClusterRole.manifest(BOOTSTRAP, rules=RULES),
            ClusterRoleBinding.manifest(BOOTSTRAP, roleRef=role, subjects=subjects),
        )

    async def bootstrap_kubeconfig(self):
        answer = await self.hub.client().create(ServiceAccount.resource, token_request(ACCOUNT, SYSTEM, 3600), "token")
        return render("hub", server=HUB_URL, ca=CA, token=issued_token(answer).token, user="bootstrap")

    async def join(self, name, **settings):
        """Leave on a worker what `clusteradm join` leaves, and start its agent."""
        worker = self.fleet[name]
        worker.namespace(AGENT_NAMESPACE)
        if not any(each.name == BOOTSTRAP_SECRET for each in worker.list(Secret)):
            entries = {"kubeconfig": await self.bootstrap_kubeconfig()}
            worker.add(secret(BOOTSTRAP_SECRET, AGENT_NAMESPACE, entries))
        return await self.start_agent(name, **settings)

    async def start_agent(self, name, **settings):
        way, clients = self.ways.setdefault(name, Way()), []

        def dial(connection):
            clients.append(Client(FaultyDoor(self.fleet.dial(connection).door, way)))
            return clients[-1]

        agent = wiring.agent(Client(self.fleet[name]), dial, Metrics(), RegistrationAgentSettings(name, **settings))
        work = running(agent.run())
        await work.__aenter__()
        self.agents[name] = Agent(work, clients, settings)
        self._open.push_async_callback(self.stop_agent, name)
        await self.fleet.advance(2)

    async def stop_agent(self, name):
        if name in self.agents:
            await self.agents.pop(name).work.__aexit__(None, None, None)

    async def look_again(self):
        """Start every agent once more that has joined: it knows nothing, finds all as it should be, and is quiet.

        One that was not let in yet asks once more: as OCM's, it does not remember that it did.
        """
        for name in [name for name in self.agents if self.is_at_home(name)]:
            settings = self.agents[name].settings
            await self.stop_agent(name)
            marks = [(api, len(api.writes)) for api in (self.hub, self.fleet[name])]
            await self.start_agent(name, **settings)
            written = [write for api, mark in marks for write in api.writes[mark:] if " leases/" not in write]
            if written:
                raise Broken(f"an agent that was started again wrote: {', '.join(written)}")

    def is_at_home(self, name):
        """Tell whether an agent has joined, and nothing is in its way."""
        way = self.ways[name]
        return self.says("ManagedClusterJoined", name) == "True" and not way.failures and not way._cut

    def cluster(self, name="cluster1"):
        return self.hub.get(ManagedCluster, name)

    def says(self, kind, name="cluster1"):
        """Return the status of a condition of a cluster."""
        cluster = self.cluster(name)
        said = find(cluster.status.conditions, kind) if cluster is not None else None
        return said.status if said is not None else ""

    def taints(self, name="cluster1"):
        return [taint.key.rpartition("/")[2] for taint in self.cluster(name).spec.taints]

"""The manifests that we ship, applied to embedded clusters: their Deployments are available because the parts run."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.authentication_v1 import issued_token, token_request
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace, Pod, ServiceAccount, secret
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import render
from fleetqueue.controllers.processes.capabilities import NEEDED
from fleetqueue.controllers.processes.process import end
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import cluster_parts, new_server
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.real.cluster_api import collection_path
from fleetqueue.testing.builders import custom_kind
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time

DEPLOY = Path(__file__).parents[3] / "deploy" / "kustomize"
NAMESPACE = "fleetqueue-system"
CONTROLLER, AGENT = "fleetqueue-controller", "fleetqueue-score-agent"
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments")


class World:
    """Clusters that reach each other without sockets."""

    def __init__(self):
        self.servers = {}
        self.tasks = []

    async def add(self, name):
        server = self.servers[name] = await new_server(Secrets(tokens={name: User("admin", (MASTERS,))}))
        parts = cluster_parts(name, server, token=name, dial=self.dial)
        self.tasks += [asyncio.create_task(work) for work in (server.run(), parts.run())]
        return self.client(name)

    def client(self, name, token=""):
        return Client(InProcessDoor(self.servers[name], RequestCredentials(token=token or name)))

    def dial(self, connection):
        name = connection.server.removeprefix("https://")
        if name not in self.servers:
            raise errors.Unreachable(f"no cluster at {connection.server}")
        return self.client(name, connection.token)


@pytest.fixture
async def world():
    world = World()
    try:
        yield world
    finally:
        for task in world.tasks:
            await end(task)


@pytest.fixture
async def hub(world):
    """A hub that serves what our parts need; nobody else's parts run there."""
    client = await world.add("hub")
    for kind in (kind for kinds in NEEDED.values() for kind in kinds):
        await client.create(CustomResourceDefinition.resource, custom_kind(kind.resource))
    await client.create(Namespace.resource, Namespace.manifest("kueue-system"))
    await advance(1)
    return client


async def apply(client, *files, **replaced):
    """Create all objects of shipped files."""
    for file in files:
        text = (DEPLOY / file).read_text()
        for old, new in replaced.items():
            text = text.replace(old, new)
        for manifest in yaml.safe_load_all(text):
            await client.post(collection_path(manifest), manifest)


async def apply_controller(client):
    await apply(client, *yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"])


async def available(client, name):
    found = await client.get(DEPLOYMENTS, name, NAMESPACE)
    return found.get("status", {}).get("availableReplicas", 0)


async def pods(client):
    return (await client.list(Pod.resource, NAMESPACE)).items


async def holder(client):
    return Lease.view(await client.get(Lease.resource, CONTROLLER, NAMESPACE)).spec.holder_identity


async def reason(client, name):
    """What the controller says of a check."""
    found = kueue.AdmissionCheck.view(await client.get(kueue.AdmissionCheck.resource, name))
    return [condition.reason for condition in found.status.conditions]


async def add_check(client, name):
    spec = {"controllerName": "open-cluster-management.io/placement"}
    await client.create(kueue.AdmissionCheck.resource, kueue.AdmissionCheck.manifest(name, spec=spec))


async def test_the_controller_is_available_because_it_works(hub):
    await apply_controller(hub)
    await advance(30)
    await add_check(hub, "placement-demo2")
    await advance(5)

    assert await available(hub, CONTROLLER) == 2
    assert await holder(hub) != ""
    assert await reason(hub, "placement-demo2") == ["InvalidParameters"]


async def test_the_lease_names_the_pod_that_leads(hub):
    await apply_controller(hub)
    await advance(30)

    pod, _, suffix = (await holder(hub)).partition("_")
    assert pod in [pod["metadata"]["name"] for pod in await pods(hub)]
    assert suffix.isalnum()


async def test_without_what_it_needs_it_is_not_ready(world):
    bare = await world.add("hub")
    await bare.create(Namespace.resource, Namespace.manifest("kueue-system"))
    await apply_controller(bare)
    await advance(60)

    assert await available(bare, CONTROLLER) == 0
    assert {pod["status"]["phase"] for pod in await pods(bare)} == {"Running"}


async def test_a_deleted_pod_gives_the_lease_back_and_another_takes_its_place(hub):
    await apply_controller(hub)
    await advance(30)
    before = await holder(hub)
    await hub.delete_collection(Pod.resource, NAMESPACE)
    await advance(30)
    await add_check(hub, "after")
    await advance(5)

    assert await holder(hub) not in ("", before)
    assert await available(hub, CONTROLLER) == 2
    assert await reason(hub, "after") == ["InvalidParameters"]


async def test_scaled_away_it_does_nothing(hub):
    await apply_controller(hub)
    await advance(30)
    await hub.merge(DEPLOYMENTS, CONTROLLER, NAMESPACE, {"spec": {"replicas": 0}})
    await advance(30)
    await add_check(hub, "nobody-looks")
    await advance(60)

    assert await pods(hub) == []
    assert await reason(hub, "nobody-looks") == []


async def test_a_lost_lease_ends_the_container_with_its_reason(hub):
    await apply_controller(hub)
    await advance(30)
    thief = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600}}
    await hub.merge(Lease.resource, CONTROLLER, NAMESPACE, thief)
    await advance(15)

    ends = [pod["status"]["containerStatuses"][0]["lastState"].get("terminated") for pod in await pods(hub)]
    (ended,) = [found for found in ends if found]
    assert (ended["exitCode"], ended["reason"]) == (1, "Error")
    assert "LeadershipLost: lease fleetqueue-system/fleetqueue-controller is held by thief" in ended["message"]


@asynccontextmanager
async def a_worker(world, hub):
    """A worker whose agent has a kubeconfig for the hub."""
    client = await world.add("worker")
    for namespace in ("worker", "agents"):
        await hub.create(Namespace.resource, Namespace.manifest(namespace))
    await apply(hub, "rbac/score_agent_hub_role.yaml")
    await hub.create(ServiceAccount.resource, ServiceAccount.manifest("agent", "agents"))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "fleetqueue-score-agent-hub"}
    subject = {"kind": "ServiceAccount", "name": "agent", "namespace": "agents"}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "roleRef": role}
    binding |= {"metadata": {"name": "agent", "namespace": "worker"}, "subjects": [subject]}
    await hub.post(collection_path(binding), binding)
    answer = await hub.create(ServiceAccount.resource, token_request("agent", "agents", 86400), "token")
    kubeconfig = render("hub", server="https://hub", ca=b"none", token=issued_token(answer).token, user="agent")
    await apply(client, "rbac/score_agent_worker_cluster_role.yaml", "score_agent.yaml", CLUSTER="worker")
    entries = {"kubeconfig": kubeconfig}
    await client.post(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret(f"{AGENT}-hub-kubeconfig", NAMESPACE, entries))
    yield client


async def scored_until(hub):
    found = await hub.get(cluster.AddOnPlacementScore.resource, "resource-usage-score", "worker")
    return found["status"]["validUntil"]


async def test_the_score_agent_is_available_and_its_scores_reach_the_hub(world, hub):
    async with a_worker(world, hub) as worker:
        await advance(60)
        first = await scored_until(hub)
        await advance(600)

        assert await available(worker, AGENT) == 1
        assert await scored_until(hub) > first


async def test_scaled_away_the_agent_is_silent(world, hub):
    async with a_worker(world, hub) as worker:
        await advance(60)
        await worker.merge(DEPLOYMENTS, AGENT, NAMESPACE, {"spec": {"replicas": 0}})
        await advance(5)
        last = await scored_until(hub)
        await advance(600)

        assert await scored_until(hub) == last


async def test_an_agent_that_may_not_look_is_not_ready(world, hub):
    async with a_worker(world, hub) as worker:
        await worker.delete(Resource("rbac.authorization.k8s.io", "v1", "", "clusterrolebindings", False), AGENT)
        await advance(60)

        assert await available(worker, AGENT) == 0


async def test_arguments_that_make_no_sense_are_told(world, hub):
    async with a_worker(world, hub) as worker:
        await advance(60)
        container = {"name": "score-agent", "image": "fleetqueue:next", "args": ["dance"]}
        template = {"spec": {"containers": [container]}}
        patch = {"spec": {"template": template}}
        await worker.strategic_merge(DEPLOYMENTS, AGENT, NAMESPACE, patch)
        await advance(60)

        statuses = [pod["status"]["containerStatuses"][0] for pod in await pods(worker)]
        (broken,) = [status for status in statuses if status["restartCount"]]
        assert broken["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert "must be one of controller, score-agent, not 'dance'" in broken["lastState"]["terminated"]["message"]

"""A cluster with some operators and a whole Kueue, and one queue."""

from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Namespace, Pod
from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance
from tests.invariants.second_look import managed, whole
from tests.invariants.standing_by import watched_over

NAMESPACE = "team"
QUEUED = {kueue.QUEUE_LABEL: "q"}


class QueuedCluster:
    def __init__(self, fleet, operators, frameworks):
        self.fleet = fleet
        self.client = fleet.hub.client()
        self.operators = operators
        self.frameworks = frameworks

    @classmethod
    @asynccontextmanager
    async def open(cls, systems, operators, frameworks, broken):
        """Open a cluster that serves the kinds of some systems; `operators` make controllers."""
        async with EmbeddedFleet.open(workers=0) as fleet:
            cluster = cls(fleet, operators, frameworks)
            for definition in (one for system in ("kueue", *systems) for one in crds(system)):
                await cluster.client.create(CustomResourceDefinition.resource, definition)
            await advance(60)
            await cluster.client.create(Namespace.resource, Namespace.manifest(NAMESPACE))
            await cluster._make_queue()
            async with watched_over({HUB: cluster.client}, broken=broken):
                yield cluster

    async def _make_queue(self):
        quota = {"name": "cpu", "nominalQuota": "4"}
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [quota]}]}]
        for kind, manifest in (
            (
                kueue.ResourceFlavor,
                kueue.ResourceFlavor.manifest("default", spec={"nodeLabels": {"kubernetes.io/os": "linux"}}),
            ),
            (
                kueue.ClusterQueue,
                kueue.ClusterQueue.manifest("q", spec={"namespaceSelector": {}, "resourceGroups": groups}),
            ),
            (kueue.LocalQueue, kueue.LocalQueue.manifest("q", NAMESPACE, spec={"clusterQueue": "q"})),
        ):
            await self.client.create(kind.resource, manifest)

    @asynccontextmanager
    async def running(self, *, kueue_too=True):
        """Let the operators and Kueue work, over a way that may have faults."""
        async with AsyncExitStack() as stack:
            if kueue_too:
                server = self.fleet.hub.server
                install = partial(server.webhooks.install, "kueue")
                settings = KueueSettings(frameworks=self.frameworks)
                manager = KueueManager(self._view("kueue"), Metrics(), settings, find=server.find, install=install)
                await stack.enter_async_context(whole(manager))
            view, metrics = self._view("operators"), Metrics()
            controllers = [controller for operator in self.operators for controller in operator(view, metrics)]
            await stack.enter_async_context(managed(Manager(view, controllers)))
            await advance(2)
            yield

    def _view(self, name):
        return Cluster(name, self.fleet.dial(parse(self.fleet.hub.kubeconfig)))

    async def get(self, kind, name):
        return await self.client.get(kind.resource, name, NAMESPACE)

    async def add(self, kind, manifest, seconds=5):
        await self.client.create(kind.resource, manifest)
        await advance(seconds)

    async def told(self, kind, name):
        """Return the conditions of an object: `True Reason`, by their types."""
        status = (await self.get(kind, name)).get("status") or {}
        return {each["type"]: f"{each['status']} {each['reason']}" for each in status.get("conditions", ())}

    async def workload(self):
        (found,) = (await self.client.list(kueue.Workload.resource, NAMESPACE)).items
        return found

    async def finished(self):
        """Return how the one Workload finished."""
        conditions = (await self.workload())["status"]["conditions"]
        return next(f"{each['reason']}: {each['message']}" for each in conditions if each["type"] == "Finished")

    async def evict(self):
        metadata = (await self.workload())["metadata"]
        await self.client.merge(kueue.Workload.resource, metadata["name"], NAMESPACE, {"spec": {"active": False}})
        await advance(20)

    async def admit_again(self):
        metadata = (await self.workload())["metadata"]
        await self.client.merge(kueue.Workload.resource, metadata["name"], NAMESPACE, {"spec": {"active": True}})
        await advance(20)

    async def pods(self):
        return (await self.client.list(Pod.resource, NAMESPACE)).items


def template(*, runs="1000s", fails=False, container="c", cpu="100m"):
    """A pod template whose pods run for some time."""
    notes = {"fleetqueue.dev/run-for": runs, **({"fleetqueue.dev/fails": "true"} if fails else {})}
    containers = [{"name": container, "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    return {"metadata": {"annotations": notes}, "spec": {"containers": containers, "restartPolicy": "Never"}}

"""A cluster of our own server with Kueue's kinds, and the scheduler on it."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Namespace, Node
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.kueue.metrics import KueueMetrics
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.scheduling.scheduler import KueueSchedulerController
from fleetqueue.embedded.kueue.settings import SchedulingSettings
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance
from tests.invariants.second_look import managed
from tests.invariants.standing_by import watched_over

from .objects import NAMESPACE, local_queue_manifest, queue_manifest

KINDS = {
    kind.resource.kind: kind
    for kind in (kueue.Workload, kueue.ClusterQueue, kueue.LocalQueue, kueue.ResourceFlavor, Topology, Node)
}


class Environment:
    """What a test arranges and looks at."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.client = fleet.hub.client()
        self.way = fleet.hub.way
        self.cache = Cache(SchedulingSettings())
        self.metrics = Metrics()

    async def add(self, *manifests):
        """Create objects, a second apart: which of two Workloads of one second comes first is chance."""
        for number, manifest in enumerate(manifests):
            await advance(1 if number else 0)
            await self.client.create(KINDS[manifest["kind"]].resource, manifest)

    @asynccontextmanager
    async def scheduling(self, **settings):
        """Let a scheduler run, over a way that may have faults."""
        self.cache, self.metrics = Cache(SchedulingSettings(**settings)), Metrics()
        cluster = Cluster("hub", self.fleet.dial(parse(self.fleet.hub.kubeconfig)), metrics=self.metrics)
        kueue_metrics = KueueMetrics(self.metrics.registry)
        made = [KueueSchedulerController(cluster, self.metrics, self.cache, kueue_metrics)]
        async with managed(Manager(cluster, made)):
            await advance(1)
            yield

    async def workload(self, name):
        return await self.client.get(kueue.Workload.resource, name, NAMESPACE)

    async def told(self, name):
        """Return the conditions of a Workload, each in one line."""
        status = (await self.workload(name)).get("status") or {}
        return {each["type"]: f"{each['status']} {each['reason']}" for each in status.get("conditions", ())}

    async def events(self):
        found = (await self.client.list(Event.resource, NAMESPACE)).items
        return sorted(f"{event['regarding']['name']} {event['reason']}" for event in found)

    def writes(self):
        """Return how many requests the scheduler has sent that change something."""
        samples = [sample for metric in self.metrics.requests.collect() for sample in metric.samples]
        return sum(
            sample.value for sample in samples if sample.labels.get("verb") in ("POST", "PATCH", "PUT", "DELETE")
        )


@pytest.fixture
async def env(broken):
    """A queue of four cpus that preempts lower priorities, and nobody in it."""
    async with EmbeddedFleet.open(workers=0) as fleet:
        found = Environment(fleet)
        for definition in crds("kueue"):
            await found.client.create(CustomResourceDefinition.resource, definition)
        await advance(60)
        await found.client.create(Namespace.resource, Namespace.manifest(NAMESPACE))
        rules = {"withinClusterQueue": "LowerPriority"}
        await found.add(
            kueue.ResourceFlavor.manifest("default", spec={}),
            queue_manifest(preemption=rules),
            local_queue_manifest(),
        )
        async with watched_over({HUB: found.client}, broken=broken):
            yield found

"""A cluster of our own server with Kueue's kinds, on which pods run, and a whole Kueue manager on it."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace, Pod
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.client.kubeconfig import parse
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.wiring import controllers
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance
from tests.invariants.second_look import managed
from tests.invariants.standing_by import watched_over

from .scheduling.objects import NAMESPACE, local_queue_manifest, queue_manifest

KINDS = {
    kind.resource.kind: kind.resource
    for kind in (
        kueue.AdmissionCheck,
        kueue.ClusterQueue,
        kueue.LocalQueue,
        kueue.ResourceFlavor,
        Topology,
        kueue.Workload,
        Job,
        Namespace,
        Pod,
    )
}

COUNTED = (kueue.Workload,)


class World:
    """What a test arranges and looks at."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.client = fleet.hub.client()
        self.way = fleet.hub.way
        self.metrics = Metrics()

    async def add(self, *manifests):
        for manifest in manifests:
            status = manifest.get("status")
            made = await self.client.create(KINDS[manifest["kind"]], manifest)
            if status:
                await self.change(made, status=status)

    async def change(self, manifest, **fields):
        """Merge fields into an object; a status goes its own way."""
        metadata = manifest["metadata"]
        where = "status" if "status" in fields else ""
        name, namespace = metadata["name"], metadata.get("namespace", "")
        await self.client.merge(KINDS[manifest["kind"]], name, namespace, fields, subresource=where)
        await advance(2)

    async def delete(self, kind, name, namespace=""):
        await self.client.delete(KINDS[kind], name, namespace)
        await advance(2)

    @asynccontextmanager
    async def managed(self, settings=None, more=()):
        """Let a manager run, over a way that may have faults; `more` are further controllers that it runs."""
        self.metrics = Metrics()
        cluster = Cluster("hub", self.fleet.dial(parse(self.fleet.hub.kubeconfig)))
        made = [
            *controllers(cluster, self.metrics, settings or KueueSettings()),
            *(controller(cluster, self.metrics) for controller in more),
        ]
        async with managed(Manager(cluster, made)):
            await advance(2)
            yield

    async def get(self, kind, name, namespace=""):
        return await self.client.get(KINDS[kind], name, namespace)

    async def workload(self, name):
        return await self.get("Workload", name, NAMESPACE)

    async def told(self, name, kind="Workload", namespace=NAMESPACE):
        """Return the conditions of an object, each in one line."""
        status = (await self.get(kind, name, namespace)).get("status") or {}
        return {
            each["type"]: f"{each['status']} {each['reason']}: {each['message']}"
            for each in status.get("conditions", ())
        }

    async def events(self, name):
        found = (await self.client.list(Event.resource, NAMESPACE)).items
        return sorted(
            f"{event['reason']}: {event['note']}"
            for event in found
            if event["regarding"]["name"] == name and "kueue" in event["reportingController"]
        )

    async def revision(self):
        """Return how far Kueue's kinds have come: it stands still while nobody writes them."""
        found = [raw for kind in KINDS.values() for raw in (await self.client.list(kind)).items]
        return max(int(raw["metadata"]["resourceVersion"]) for raw in found)


@pytest.fixture
async def world(broken):
    """A queue of four cpus, and nobody in it."""
    async with EmbeddedFleet.open(workers=0) as fleet:
        found = World(fleet)
        for definition in crds("kueue"):
            await found.client.create(CustomResourceDefinition.resource, definition)
        await advance(60)
        await found.add(
            Namespace.manifest(NAMESPACE),
            kueue.ResourceFlavor.manifest("default", spec={"nodeLabels": {"kubernetes.io/os": "linux"}}),
            queue_manifest(),
            local_queue_manifest(),
        )
        async with watched_over({HUB: found.client}, without=COUNTED, broken=broken):
            yield found

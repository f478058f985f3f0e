"""A cluster whose API is our own server, in process and in virtual time, and the controllers under test on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fleetqueue import clock
from fleetqueue.api import core_v1 as core
from fleetqueue.api.conditions import timestamp
from fleetqueue.embedded.kubernetes.node_health import NodeHealthController
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import running, settle
from tests.invariants import strangers
from tests.invariants.second_look import managed
from tests.invariants.standing_by import watched_over
from tests.unit.watched_cluster import WatchedCluster, watched_server


class Environment(WatchedCluster):
    """What stands in the cluster, in the words of the tests. What is done here is not recorded in `writes`."""

    @asynccontextmanager
    async def running(self, *kinds, **options) -> AsyncIterator[list]:
        """Run controllers, and let them do all that needs no time."""
        controllers = [kind(self.cluster, self.metrics, **options.get(kind.__name__, {})) for kind in kinds]
        manager = Manager(self.cluster, controllers)
        greets = NodeHealthController in kinds  # as upstream's, it says of every node that it has met it
        async with running(manager.run()) if greets else managed(manager):
            await settle()
            yield controllers

    async def add(self, kind, name, namespace="default", *, owners=(), finalizers=(), labels=None, status=None, **body):
        manifest = kind.manifest(name, namespace if kind.resource.namespaced else "", labels=labels, **body)
        if owners:
            manifest["metadata"]["ownerReferences"] = list(owners)
        if finalizers:
            manifest["metadata"]["finalizers"] = list(finalizers)
        made = await self.client.create(kind.resource, manifest)
        return made if status is None else await self.set_status(kind, name, namespace, **status)

    async def set_status(self, kind, name, namespace="default", **status):
        namespace = namespace if kind.resource.namespaced else ""
        return await self.client.merge(kind.resource, name, namespace, {"status": status}, subresource="status")

    async def change(self, kind, name, namespace="default", **patch):
        return await self.client.merge(kind.resource, name, namespace if kind.resource.namespaced else "", patch)

    async def delete(self, kind, name, namespace="default", **options):
        namespace = namespace if kind.resource.namespaced else ""
        await self.client.delete(kind.resource, name, namespace, **options)

    async def list(self, kind, namespace=""):
        """Return all objects of a kind that are no stranger's."""
        found = (await self.client.list(kind.resource, namespace)).items
        return [raw for raw in found if strangers.NAME not in raw["metadata"]["name"]]

    async def names(self, kind, namespace=""):
        return [item["metadata"]["name"] for item in await self.list(kind, namespace)]

    # Pods

    async def pods(self):
        return await self.list(core.Pod)

    async def end_pod(self, name, phase="Succeeded", code=None):
        code = code if code is not None else int(phase == "Failed")
        when = "2026-01-01T00:00:00Z"
        end = {"exitCode": code, "startedAt": when, "finishedAt": _now()}
        await self.set_status(
            core.Pod, name, phase=phase, containerStatuses=[{"name": "main", "state": {"terminated": end}}]
        )

    async def place_pod(self, name, node):
        metadata = {"name": name, "namespace": "default"}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        await self.client.create(core.Pod.resource, binding, "binding")

    async def run_pod(self, name, ready=True):
        ready_condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": _now()}
        await self.set_status(core.Pod, name, phase="Running", conditions=[ready_condition])


def _now():
    return timestamp(clock.now())


@pytest.fixture
async def env() -> AsyncIterator[Environment]:
    env = Environment(await watched_server())
    async with watched_over({HUB: env.client}):
        yield env


@pytest.fixture
def owner_of():
    """Build the reference by which an object names its owner."""

    def reference(owner, *, blocking=False, controller=False, **changed):
        metadata = owner["metadata"]
        found = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "blockOwnerDeletion": blocking,
            "controller": controller,
        }
        return {**found, **changed}

    return reference

"""A cluster whose API is our own server, in process and in virtual time, with nodes on it."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api.requests import Request, Response
from fleetqueue.embedded.nodes.kubelet import KubeletController
from fleetqueue.embedded.nodes.leases import NodeLeaseController
from fleetqueue.embedded.nodes.scheduler import PodSchedulerController
from fleetqueue.embedded.nodes.settings import KubeletSettings, NodeSettings
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import running, settle
from tests.unit.watched_cluster import WatchedCluster, WatchedDoor, watched_server

RUN_FOR = "fleetqueue.dev/run-for"


class UnsafeDoor(WatchedDoor):
    """A door on whose way writes get lost."""

    chance: random.Random | None = None
    """Where set, one write in ten does not arrive, and of one in ten the answer is lost."""

    async def write(self, request: Request, timeout: float) -> Response:
        if self.chance is None:
            return await super().write(request, timeout)
        drawn = self.chance.random()
        response = None if drawn < 0.1 else await super().write(request, timeout)
        if response is None or drawn < 0.2:
            raise errors.Unreachable(f"{request}: cut")
        return response


class Environment(WatchedCluster):
    """What stands in the cluster, in the words of the tests. What is done here is not recorded in `writes`."""

    # Acting

    @asynccontextmanager
    async def running(self, *controllers) -> AsyncIterator[None]:
        async with running(Manager(self.cluster, controllers).run()):
            await settle()
            yield

    def scheduler(self):
        return PodSchedulerController(self.cluster, self.metrics)

    def kubelet(self, *nodes, **settings):
        programs = settings.pop("programs", None)
        settings = KubeletSettings(nodes or (NodeSettings("node"),), **settings)
        return KubeletController(self.cluster, self.metrics, settings=settings, programs=programs)

    def leases(self, *nodes, **settings):
        settings = KubeletSettings(nodes or (NodeSettings("node"),), **settings)
        return NodeLeaseController(self.cluster, self.metrics, settings=settings)

    # Arranging

    async def node(self, name="node", *, labels=None, taints=(), unschedulable=False, **resources):
        spec = {"taints": list(taints), "unschedulable": unschedulable}
        await self.client.create(core.Node.resource, core.Node.manifest(name, labels=labels, spec=spec))
        amounts = {"cpu": "4", "memory": "16Gi", "pods": "110", **resources}
        status = {"capacity": amounts, "allocatable": amounts}
        await self.client.merge(core.Node.resource, name, "", {"status": status}, subresource="status")

    async def pod(self, name="pod", *, node="", annotations=None, requests=None, owner="", finalizers=(), **spec):
        container = {"name": "main", "image": "busybox", "resources": {"requests": requests or {}}}
        container["resources"]["limits"] = {key: value for key, value in (requests or {}).items() if "/" in key}
        container |= spec.pop("container", {})
        body = {"containers": [container], **spec}
        if node:
            body["nodeName"] = node
        manifest = core.Pod.manifest(name, "default", annotations=annotations, spec=body)
        if owner:
            reference = {"apiVersion": "batch/v1", "kind": owner, "name": "o", "uid": "uid", "controller": True}
            manifest["metadata"]["ownerReferences"] = [reference]
        if finalizers:
            manifest["metadata"]["finalizers"] = list(finalizers)
        await self.client.create(core.Pod.resource, manifest)
        await settle()

    async def change(self, kind, name, **patch):
        namespace = "default" if kind.resource.namespaced else ""
        await self.client.merge(kind.resource, name, namespace, patch)
        await settle()

    async def set_status(self, kind, name, **status):
        namespace = "default" if kind.resource.namespaced else ""
        await self.client.merge(kind.resource, name, namespace, {"status": status}, subresource="status")
        await settle()

    async def delete(self, kind, name):
        await self.client.delete(kind.resource, name, "default" if kind.resource.namespaced else "")
        await settle()

    # Looking

    async def where(self, name="pod"):
        return (await self.get(core.Pod, name))["spec"].get("nodeName")

    async def phase(self, name="pod"):
        found = await self.get(core.Pod, name)
        return found and found.get("status", {}).get("phase")

    async def condition(self, kind, name="pod"):
        conditions = (await self.get(core.Pod, name))["status"]["conditions"]
        return next((one for one in conditions if one["type"] == kind), None)


@pytest.fixture
async def env() -> Environment:
    return Environment(await watched_server(), UnsafeDoor)

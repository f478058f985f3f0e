"""A cluster whose API is our own server, in process and in virtual time, with nodes on it."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.requests import Request, Response
from fleetqueue.apiserver.auth.authentication import Credentials
from fleetqueue.apiserver.auth.users import User
from fleetqueue.apiserver.server import ApiServer, Secrets
from fleetqueue.apiserver.storage.log import MemoryLog
from fleetqueue.apiserver.storage.storage import ClusterStorage
from fleetqueue.assembly.in_process import InProcessDoor
from fleetqueue.client import Client
from fleetqueue.nodes.kubelet import KubeletController
from fleetqueue.nodes.leases import NodeLeaseController
from fleetqueue.nodes.scheduler import SchedulerController
from fleetqueue.nodes.settings import KubeletSettings, NodeSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import running, settle

RUN_FOR = "fleetqueue.dev/run-for"


class Watched(InProcessDoor):
    """A door that remembers what was written through it, and can fail once."""

    def __init__(self, server, credentials):
        super().__init__(server, credentials)
        self.writes: list[str] = []
        self.failing = ""
        self.chance: random.Random | None = None
        """Where set, one write in ten does not arrive, and of one in ten the answer is lost."""

    async def request(self, request: Request, *, timeout: float) -> Response:
        if request.method != "GET":
            line = f"{request.method} {request.path}"
            if self.failing and self.failing in line:
                self.failing = ""
                raise errors.Unreachable(f"{line}: cut")
            if "/events" not in line:
                self.writes.append(line)
            if self.chance is not None:
                return await self._unsafely(request, timeout)
        return await super().request(request, timeout=timeout)

    async def _unsafely(self, request: Request, timeout: float) -> Response:
        drawn = self.chance.random()
        response = None if drawn < 0.1 else await super().request(request, timeout=timeout)
        if response is None or drawn < 0.2:
            raise errors.Unreachable(f"{request}: cut")
        return response


class Scene:
    """What stands in the cluster, in the words of the tests. What is done here is not recorded in `writes`."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.client = Client(InProcessDoor(server, Credentials(token="admin")))
        self.door = Watched(server, Credentials(token="admin"))
        self.cluster = Cluster("c1", Client(self.door))
        self.metrics = Metrics()

    # Acting

    @asynccontextmanager
    async def running(self, *controllers) -> AsyncIterator[None]:
        async with running(Manager(self.cluster, controllers).run()):
            await settle()
            yield

    def scheduler(self):
        return SchedulerController(self.cluster, self.metrics)

    def kubelet(self, *nodes, **settings):
        programs = settings.pop("programs", None)
        settings = KubeletSettings(nodes or (NodeSettings("node"),), **settings)
        return KubeletController(self.cluster, self.metrics, settings=settings, programs=programs)

    def leases(self, *nodes, **settings):
        settings = KubeletSettings(nodes or (NodeSettings("node"),), **settings)
        return NodeLeaseController(self.cluster, self.metrics, settings=settings)

    def fail_once(self, what):
        self.door.failing = what

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

    @property
    def writes(self):
        return self.door.writes

    async def get(self, kind, name, namespace="default"):
        try:
            return await self.client.get(kind.resource, name, namespace if kind.resource.namespaced else "")
        except errors.NotFound:
            return None

    async def where(self, name="pod"):
        return (await self.get(core.Pod, name))["spec"].get("nodeName")

    async def phase(self, name="pod"):
        found = await self.get(core.Pod, name)
        return found and found.get("status", {}).get("phase")

    async def condition(self, kind, name="pod"):
        conditions = (await self.get(core.Pod, name))["status"]["conditions"]
        return next((one for one in conditions if one["type"] == kind), None)

    async def events(self, reason):
        found = await self.client.list(Event.resource)
        return [event["note"] for event in found.items if event["reason"] == reason]


@pytest.fixture
async def scene() -> Scene:
    tokens = {"admin": User("admin", ("system:masters",))}
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets(tokens=tokens))
    await server.start()
    return Scene(server)

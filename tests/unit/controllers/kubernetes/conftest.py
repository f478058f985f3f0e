"""A cluster whose API is our own server, in process and in virtual time, and the controllers under test on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from fleetqueue import clock
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.requests import Request, Response
from fleetqueue.apiserver.auth.authentication import Credentials
from fleetqueue.apiserver.auth.users import User
from fleetqueue.apiserver.server import ApiServer, Secrets
from fleetqueue.apiserver.storage.log import MemoryLog
from fleetqueue.apiserver.storage.storage import ClusterStorage
from fleetqueue.assembly.in_process import InProcessDoor
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import running, settle


class Watched(InProcessDoor):
    """A door that remembers what was written through it, and can fail once."""

    def __init__(self, server, credentials):
        super().__init__(server, credentials)
        self.writes: list[str] = []
        self.failing = ""
        self.refusing = ""

    async def request(self, request: Request, *, timeout: float) -> Response:
        if request.method != "GET":
            line = f"{request.method} {request.path}"
            if self.failing and self.failing in line:
                self.failing = ""
                raise errors.Unreachable(f"{line}: cut")
            if self.refusing and self.refusing in line:
                return Response(
                    403, {"kind": "Status", "reason": "Forbidden", "message": "exceeded quota", "code": 403}
                )
            if "/events" not in line:
                self.writes.append(line)
        return await super().request(request, timeout=timeout)


class Scene:
    """What stands in the cluster, in the words of the tests. What is done here is not recorded in `writes`."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.client = Client(InProcessDoor(server, Credentials(token="admin")))
        self.door = Watched(server, Credentials(token="admin"))
        self.cluster = Cluster("c1", Client(self.door))
        self.metrics = Metrics()

    @asynccontextmanager
    async def running(self, *kinds, **options) -> AsyncIterator[list]:
        """Run controllers, and let them do all that needs no time."""
        controllers = [kind(self.cluster, self.metrics, **options.get(kind.__name__, {})) for kind in kinds]
        async with running(Manager(self.cluster, controllers).run()):
            await settle()
            yield controllers

    @property
    def writes(self) -> list[str]:
        return self.door.writes

    def fail_once(self, what: str) -> None:
        """Cut the next write whose method and path contain this."""
        self.door.failing = what

    def refuse(self, what: str) -> None:
        """Forbid all writes whose method and path contain this, from now on."""
        self.door.refusing = what

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

    async def get(self, kind, name, namespace="default"):
        """Return an object as plain JSON; None where there is none."""
        try:
            return await self.client.get(kind.resource, name, namespace if kind.resource.namespaced else "")
        except errors.NotFound:
            return None

    async def list(self, kind, namespace=""):
        return (await self.client.list(kind.resource, namespace)).items

    async def names(self, kind, namespace=""):
        return [item["metadata"]["name"] for item in await self.list(kind, namespace)]

    async def events(self, reason=""):
        found = await self.client.list(Event.resource)
        return [event["note"] for event in found.items if not reason or event["reason"] == reason]

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

    async def woken(self, controller):
        """Return the keys that wait to be worked on, and take them out."""
        await settle()
        keys = set()
        while len(controller.queue):
            key = await controller.queue.take()
            controller.queue.done(key)
            keys.add(key)
        return keys


def _now():
    return timestamp(clock.now())


@pytest.fixture
async def scene() -> Scene:
    tokens = {"admin": User("admin", ("system:masters",))}
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets(tokens=tokens))
    await server.start()
    return Scene(server)


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

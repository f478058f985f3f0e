"""The API in memory, and in the lane `pytest -m real` a real API server that must answer the same."""

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fleetqueue.api import errors
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import Object
from fleetqueue.api.requests import APPLY_PATCH, Request
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.testing.memory_api import MemoryApi

GROUP = "testing.fleetqueue.dev"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
numbers = itertools.count(1)


class Thing(Object):
    """A custom kind with a status and a keyed list."""

    resource = Resource(GROUP, "v1", "Thing", "things")


class Things:
    """The verbs on Things of one namespace."""

    resource = Thing.resource

    def __init__(self, client, namespace):
        self.client = client
        self.namespace = namespace

    def manifest(self, name, **body):
        return Thing.manifest(name, self.namespace, **body)

    async def create(self, name="a", **body):
        return await self.client.create(Thing.resource, self.manifest(name, **body))

    async def get(self, name="a"):
        return await self.client.get(Thing.resource, name, self.namespace)

    async def merge(self, patch, name="a", subresource=""):
        return await self.client.merge(Thing.resource, name, self.namespace, patch, subresource=subresource)

    async def apply(self, manager, name="a", subresource="", **body):
        metadata = body.pop("metadata", {})
        manifest = self.manifest(name, **body)
        manifest["metadata"] |= metadata
        return await self.client.apply(Thing.resource, manifest, subresource=subresource, manager=manager)

    async def apply_gently(self, manager, **spec):
        path = Thing.resource.path(self.namespace, "a")
        request = Request("PATCH", path, {"fieldManager": manager}, self.manifest("a", spec=spec), APPLY_PATCH)
        response = await self.client.door.request(request, timeout=30)
        if response.status >= 400:
            raise errors.from_status(response.status, response.body)
        return response.body

    async def delete(self, name="a", **options):
        await self.client.delete(Thing.resource, name, self.namespace, **options)

    async def say(self, manager, *conditions):
        status = {"conditions": [{"type": kind, "status": status} for kind, status in conditions]}
        return await self.apply(manager, subresource="status", status=status)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "judge" in metafunc.fixturenames:
        asks_the_real_one = metafunc.config.getoption("markexpr") == "real"
        judges = [pytest.param("real", marks=pytest.mark.real)] if asks_the_real_one else ["memory"]
        metafunc.parametrize("judge", judges, ids=None if asks_the_real_one else [pytest.HIDDEN_PARAM])


@pytest.fixture
def namespace() -> str:
    """A namespace of the test's own."""
    return f"t{next(numbers)}"


@pytest.fixture
async def client(judge: str, namespace: str, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    if judge == "memory":
        yield Client(MemoryApi())
        return
    client = connect(load(request.getfixturevalue("real_hub")))
    await client.create(Namespace.resource, Namespace.manifest(namespace))
    yield client
    await client.close()


@pytest.fixture
def things(client: Client, namespace: str) -> Things:
    return Things(client, namespace)


@pytest.fixture(scope="session")
def real_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A real etcd and kube-apiserver that know Things, on a thread of their own."""
    from fleetqueue.engine.layout import find

    if find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    folder = tmp_path_factory.mktemp("hub")
    is_up, stop = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_run_hub(folder, is_up, stop)))
    thread.start()
    assert is_up.wait(60)
    yield folder / "kubeconfig.path"
    stop.set()
    thread.join()


async def _run_hub(folder: Path, is_up: threading.Event, stop: threading.Event) -> None:
    from fleetqueue.engine.fleet import RealFleet

    async with RealFleet(folder, workers=0, ocm="none", kueue=False) as fleet:
        path = fleet.clusters["hub"].kubeconfig
        (folder / "kubeconfig.path").symlink_to(path)
        client = connect(load(path))
        await client.create(CustomResourceDefinition.resource, thing_definition())
        await _served(client)
        await client.close()
        is_up.set()
        await asyncio.to_thread(stop.wait)


async def _served(client: Client) -> None:
    for _ in range(200):
        with suppress(errors.NotFound):
            await client.list(Thing.resource)
            return
        await asyncio.sleep(0.1)


def thing_definition() -> dict[str, object]:
    conditions = {
        "type": "array",
        "items": {"required": ["type"], **ANYTHING, "properties": {"type": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    }
    properties = {"spec": ANYTHING, "status": {**ANYTHING, "properties": {"conditions": conditions}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    names = {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return CustomResourceDefinition.manifest(f"things.{GROUP}", spec=spec)

"""A store in memory, and two kinds: ConfigMaps, and a custom one with a status."""

import pytest

from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.apiserver.admission.chain import Chain
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.schema import ANY, Schema
from fleetqueue.embedded.apiserver.registry.reading import Reading
from fleetqueue.embedded.apiserver.registry.served import Served
from fleetqueue.embedded.apiserver.registry.store import RegistryStore
from fleetqueue.embedded.apiserver.registry.strategy import RestUpdateStrategy, StatusStrategy, Strategy
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage

MAPS = Served(
    Resource("", "v1", "ConfigMap", "configmaps"),
    facts.schema("", "v1", "ConfigMap"),
    Strategy(generation=None),
    list_kind="ConfigMapList",
)
WIDGETS = Served(
    Resource("test.io", "v1", "Widget", "widgets"),
    Schema("object", properties={"spec": ANY, "status": ANY, "metadata": ANY}),
    Strategy(update=RestUpdateStrategy(is_unconditional=False), status=StatusStrategy(keeps_metadata=True)),
    list_kind="WidgetList",
    subresources=("status",),
    is_custom=True,
)


def a_write(manager="test", **options):
    return Write(User("alice"), manager, **options)


@pytest.fixture
async def storage():
    return await ClusterStorage.open(MemoryLog())


@pytest.fixture
def store(storage):
    return RegistryStore(storage, Chain())


@pytest.fixture
def reading(storage):
    return Reading(storage)


@pytest.fixture
def create(store):
    """Create a ConfigMap, or a Widget: `await create("a", data={...})`, `await create("w", WIDGETS, spec={...})`."""

    async def make(name, served=MAPS, namespace="ns", labels=None, **body):
        metadata = {"name": name} | ({"labels": labels} if labels else {})
        return await store.create(served, namespace, {"metadata": metadata, **body}, a_write())

    return make

"""What is stored is never changed in place, by nobody."""

import copy

import pytest

from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.storage.keys import key_of
from fleetqueue.testing.embedded_server import EmbeddedServer
from fleetqueue.testing.frozen import freeze

pytestmark = pytest.mark.virtual_time

PLAIN = {"metadata": {"name": "a", "finalizers": ["x"]}, "data": {"v": "1"}}


@pytest.fixture
async def server():
    return EmbeddedServer()


@pytest.fixture
async def client(server):
    return Client(server.door)


async def create(client):
    return await client.create(ConfigMap.resource, ConfigMap.manifest("a", "default", data={"v": "1"}))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda obj: obj.update(data={}), id="update"),
        pytest.param(lambda obj: obj["data"].__setitem__("v", "2"), id="a field below"),
        pytest.param(lambda obj: obj["data"].pop("v"), id="pop"),
        pytest.param(lambda obj: obj.setdefault("spec", {}), id="setdefault"),
        pytest.param(lambda obj: obj.__delitem__("data"), id="del"),
        pytest.param(lambda obj: obj["metadata"]["finalizers"].append("y"), id="append"),
        pytest.param(lambda obj: obj["metadata"]["finalizers"].__setitem__(0, "y"), id="an item"),
        pytest.param(lambda obj: obj["metadata"]["finalizers"].sort(), id="sort"),
    ],
)
def test_a_frozen_object_refuses_every_change(change):
    frozen = freeze(PLAIN)

    with pytest.raises(TypeError, match="copy it before you change it"):
        change(frozen)

    assert frozen == PLAIN


@pytest.mark.parametrize("copied", [dict, copy.copy, lambda obj: {**obj}, lambda obj: obj | {}])
def test_a_copy_is_its_holders_own(copied):
    own = copied(freeze(PLAIN))

    own["data"] = {}

    assert own != PLAIN


def test_a_deep_copy_is_free_at_any_depth():
    own = copy.deepcopy(freeze(PLAIN))

    own["metadata"]["finalizers"].append("y")

    assert PLAIN["metadata"]["finalizers"] == ["x"]


async def test_what_a_server_hands_out_is_frozen(client):
    made = await create(client)
    got = await client.get(ConfigMap.resource, "a", "default")
    (listed,) = (await client.list(ConfigMap.resource, "default")).items
    async with client.watch(ConfigMap.resource, "default", query={}, silence=60) as events:
        watched = (await anext(events)).object

    for found in (made, got, listed, watched):
        with pytest.raises(TypeError):
            found["data"]["v"] = "2"


async def test_what_was_sent_is_the_senders_own(client):
    manifest = ConfigMap.manifest("a", "default", data={"v": "1"})
    await client.create(ConfigMap.resource, manifest)

    manifest["data"]["v"] = "2"

    assert (await client.get(ConfigMap.resource, "a", "default"))["data"] == {"v": "1"}


async def test_a_change_inside_the_server_is_noticed(server, client):
    await create(client)
    server.end()

    server.api.storage.get(key_of("", "configmaps", "default", "a")).object["data"]["v"] = "2"

    with pytest.raises(AssertionError, match="changed in place"):
        server.end()

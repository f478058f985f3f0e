"""A disk that was full for a while leaves nothing behind: what the server does by itself goes on."""

import pytest

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.runtime.counted_events import EVENTS
from fleetqueue.testing.virtual_time import advance, running, settle
from tests.unit.embedded.apiserver.custom_objects import CRDS, WIDGETS, conditions, definition, widget
from tests.unit.embedded.apiserver.full_disk import FullDisk
from tests.unit.embedded.apiserver.queue_api import API_SERVICES, GROUP, api_service

pytestmark = pytest.mark.virtual_time


@pytest.fixture
def disk():
    return FullDisk()


@pytest.fixture
async def client(disk):
    server = ApiServer(await ClusterStorage.open(disk), Secrets(tokens={"admin": User("admin", (MASTERS,))}))
    await server.start()
    async with running(server.run()):
        await settle()
        yield Client(InProcessDoor(server, RequestCredentials(token="admin")))


async def test_what_could_not_be_said_of_an_api_service_is_said_later(client, disk):
    await client.create(API_SERVICES, api_service())
    disk.is_full = True
    await advance(10)
    unsaid = await client.get(API_SERVICES, f"v1.{GROUP}")
    disk.is_full = False
    await advance(10)
    said = await client.get(API_SERVICES, f"v1.{GROUP}")

    assert "conditions" not in unsaid["status"]
    assert [condition["reason"] for condition in said["status"]["conditions"]] == ["ServiceNotFound"]


async def test_a_definition_that_could_not_be_established_is_established_later(client, disk):
    await client.create(CRDS, definition())
    disk.is_full = True
    await advance(10)
    unsettled = await client.get(CRDS, "widgets.test.io")
    disk.is_full = False
    await advance(1)

    assert unsettled["status"]["conditions"] is None
    assert conditions(await client.get(CRDS, "widgets.test.io"))["Established"] == "True"


async def test_definitions_that_come_afterwards_are_served(client, disk):
    await client.create(CRDS, definition("gadgets.other.io", group="other.io", kind="Gadget", plural="gadgets"))
    disk.is_full = True
    await settle()
    with pytest.raises(errors.ServerError, match="No space left"):
        await client.create(CRDS, definition())
    disk.is_full = False
    await client.create(CRDS, definition())
    await settle()

    assert (await client.create(WIDGETS, widget()))["metadata"]["name"] == "w"


async def test_events_go_on_to_expire(client, disk):
    for name in ("a", "b"):
        about = {"involvedObject": {"namespace": "default"}, "metadata": {"name": name, "namespace": "default"}}
        await client.create(EVENTS, {"apiVersion": "v1", "kind": "Event", **about})
        await advance(60)
    await advance(3600 - 121)
    disk.is_full = True
    await advance(2)
    disk.is_full = False
    await advance(60)
    left = [event["metadata"]["name"] for event in (await client.list(EVENTS)).items]
    await advance(3600)

    assert left == ["a"]
    assert (await client.list(EVENTS)).items == []

"""The door without sockets."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.api.requests import Request
from fleetqueue.client import Client
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("name", ["plain", "system:open-cluster-management:agent", "a b"])
async def test_names_are_what_they_are_however_a_path_writes_them(name):
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await client.create(ClusterRole.resource, ClusterRole.manifest(name, rules=[]))

        found = await client.get(ClusterRole.resource, name)

    assert found["metadata"]["name"] == name


@pytest.fixture
async def client() -> Client:
    """A server alone, in which nothing happens by itself."""
    return (await InProcessCluster.new("hub")).client()


async def later_version(client: Client) -> Request:
    """Ask for a role as it is after a write that is still to come: that is waited for."""
    version = (await client.list(ClusterRole.resource)).resource_version
    return Request("GET", ClusterRole.resource.path(name="view"), {"resourceVersion": str(int(version) + 1)})


async def test_a_request_that_waits_is_given_up_in_time(client):
    request, began = await later_version(client), clock.monotonic()

    with pytest.raises(errors.Unreachable, match="no answer within 1 s"):
        await client.door.request(request, timeout=1)

    assert clock.monotonic() - began == pytest.approx(1)


async def test_a_request_that_waits_is_answered_when_it_can_be(client):
    waiting = asyncio.create_task(client.door.request(await later_version(client), timeout=1))
    await asyncio.sleep(0.5)

    await client.create(ClusterRole.resource, ClusterRole.manifest("new", rules=[]))

    assert (await waiting).status == 200


async def test_a_request_that_waits_can_be_cancelled(client):
    waiting = asyncio.create_task(client.door.request(await later_version(client), timeout=1))
    await asyncio.sleep(0.5)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting

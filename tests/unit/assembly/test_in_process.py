"""The door without sockets."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.api.requests import Request, Response
from fleetqueue.assembly.embedded import EmbeddedFleet
from fleetqueue.assembly.in_process import InProcessDoor
from fleetqueue.testing.virtual_time import settle

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize("name", ["plain", "system:open-cluster-management:agent", "a b"])
async def test_names_are_what_they_are_however_a_path_writes_them(name):
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await client.create(ClusterRole.resource, ClusterRole.manifest(name, rules=[]))

        found = await client.get(ClusterRole.resource, name)

    assert found["metadata"]["name"] == name


class SlowDoor(InProcessDoor):
    """A door behind which a disk is waited for."""

    def __init__(self) -> None:
        self.was_stopped = False

    async def answer(self, request):
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            self.was_stopped = True
            raise
        return Response(200, {"asked": request.path})


async def test_an_answer_that_is_not_there_at_once_is_waited_for():
    response = await SlowDoor().request(Request("GET", "/version"), timeout=10)

    assert response == Response(200, {"asked": "/version"})


async def test_an_answer_that_takes_too_long_is_none():
    door = SlowDoor()

    with pytest.raises(errors.Unreachable, match="no answer within 2 s"):
        await door.request(Request("GET", "/version"), timeout=2)

    assert door.was_stopped


async def test_who_asks_may_stop_waiting():
    door = SlowDoor()
    asking = asyncio.create_task(door.request(Request("GET", "/version"), timeout=10))
    await settle()

    asking.cancel()
    await settle()

    assert (asking.cancelled(), door.was_stopped) == (True, True)

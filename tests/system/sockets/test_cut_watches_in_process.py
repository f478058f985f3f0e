"""A watch in process that is cut at random moments misses nothing and repeats nothing."""

import asyncio
import random

import pytest

from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.fleets.faults import FaultyDoor, Way
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.testing.virtual_time import run, running

from .changes import change, follow, history, listed, through_informer

CHANGES = 100


@pytest.fixture
def served():
    """Run a story on a server without sockets, in virtual time: `served(story, seed)`."""

    async def told(story, seed):
        secrets = Secrets(tokens={"admin": User("admin", (MASTERS,))})
        server = await new_server(secrets)
        await story(server, InProcessDoor(server, RequestCredentials(token="admin")), random.Random(seed))

    return lambda story, seed: run(told(story, seed), seed=seed)


async def cut_at_random(way, chance):
    while True:
        await asyncio.sleep(chance.uniform(0, 0.2))
        way.break_streams()


class SlowDoor:
    """A door whose user makes pauses, in which streams are cut."""

    def __init__(self, door, chance):
        self.door = door
        self.chance = chance

    async def request(self, request, *, timeout):
        await asyncio.sleep(self.chance.uniform(0, 0.05))
        return await self.door.request(request, timeout=timeout)


@pytest.mark.parametrize("seed", range(8))
def test_a_watch_in_process_is_complete(served, seed):
    async def story(server, door, chance):
        since, way = server.storage.revision, Way()
        async with running(cut_at_random(way, chance)):
            reader, writer = Client(FaultyDoor(door, way)), Client(SlowDoor(door, chance))
            seen, _ = await asyncio.gather(follow(reader, since), change(writer, chance, CHANGES))

        assert seen == await history(server, since)

    served(story, seed)


@pytest.mark.parametrize("seed", range(8))
def test_an_informer_in_process_tells_everything_once(served, seed):
    async def story(server, door, chance):
        since, way = server.storage.revision, Way()
        async with running(cut_at_random(way, chance)):
            reader, writer = Client(FaultyDoor(door, way)), Client(SlowDoor(door, chance))
            told, stored = await through_informer(reader, writer, chance, CHANGES)

        assert told == [(kind, name) for kind, name, _ in await history(server, since)]
        assert stored == listed(server)

    served(story, seed)

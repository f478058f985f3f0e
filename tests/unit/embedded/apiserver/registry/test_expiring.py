"""Events go an hour after their last write."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.registry.expiring import Expiring
from fleetqueue.embedded.apiserver.storage import keys
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time
KEY = keys.key_of("", "events", "ns", "a")


def event(count):
    return {"metadata": {"name": "a", "namespace": "ns"}, "count": count}


@pytest.fixture
async def expiring(storage):
    running = asyncio.create_task(Expiring(storage).run())
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.usefixtures("expiring")
async def test_an_event_lives_for_an_hour(storage):
    await storage.create(KEY, event(1))
    await advance(3590)
    is_there = storage.head(KEY) is not None
    await advance(20)

    assert is_there
    with pytest.raises(errors.NotFound):
        storage.get(KEY)


@pytest.mark.usefixtures("expiring")
async def test_a_write_gives_it_another_hour(storage):
    made = await storage.create(KEY, event(1))
    await advance(3000)
    await storage.update(KEY, event(2), expected=made.revision)
    await advance(3000)

    assert storage.get(KEY).object["count"] == 2


async def test_what_a_restart_finds_goes_too(storage):
    await storage.create(KEY, event(1))
    running = asyncio.create_task(Expiring(storage).run())

    await advance(3700)
    running.cancel()

    assert storage.head(KEY) is None

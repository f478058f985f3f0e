"""A process that dies at one of its writes sends nothing more, and hears nothing more."""

import asyncio

import pytest

from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.events_v1 import Event
from fleetqueue.client import Client
from fleetqueue.fleets.crashes import Life
from fleetqueue.testing.virtual_time import settle


def a_map(name):
    return ConfigMap.manifest(name, "ns")


async def work(client):
    """Write a, b and c, one after the other."""
    for name in "abc":
        await client.create(ConfigMap.resource, a_map(name))


async def lived(api, life):
    """Return what is there when nothing moves any more."""
    working = asyncio.create_task(work(Client(life.door(api))))
    await settle()
    is_over = working.done()
    working.cancel()
    return is_over, [found.name for found in api.list(ConfigMap) if found.namespace == "ns"]


async def test_who_does_not_die_does_all(api):
    life = Life()

    assert await lived(api, life) == (True, ["a", "b", "c"])
    assert life.writes == ["create configmaps/ns/a", "create configmaps/ns/b", "create configmaps/ns/c"]


@pytest.mark.parametrize(
    ("arrives", "left"), [(False, ["a"]), (True, ["a", "b"])], ids=["the write is lost", "the write arrives"]
)
async def test_nothing_comes_after_the_fatal_write(api, arrives, left):
    life = Life(dies_at=2, last_write_arrives=arrives)

    assert await lived(api, life) == (False, left)
    assert life.dead.is_set()


async def test_a_process_can_be_killed_at_any_time(api):
    life = Life()
    life.end()

    assert await lived(api, life) == (False, [])


async def test_events_and_reads_are_no_writes_to_die_at(api):
    life = Life(dies_at=1)
    client = Client(life.door(api))
    source = {
        "reportingController": "x.dev/y",
        "reportingInstance": "y",
        "action": "A",
        "reason": "A",
        "type": "Normal",
    }
    regarding = {"kind": "ConfigMap", "namespace": "ns", "name": "a"}
    event = Event.manifest("e", "ns", **source, regarding=regarding, eventTime="2026-01-01T00:00:00.000000Z")

    await client.create(Event.resource, event)
    await client.list(ConfigMap.resource)

    assert not life.dead.is_set()


async def test_the_dead_cannot_ask_any_more(api):
    life = Life(dies_at=1)
    client = Client(life.door(api))
    writing = asyncio.create_task(client.create(ConfigMap.resource, a_map("a")))
    await settle()

    listing = asyncio.create_task(client.list(ConfigMap.resource))
    await settle()

    assert not writing.done()
    assert not listing.done()
    for task in (writing, listing):
        task.cancel()

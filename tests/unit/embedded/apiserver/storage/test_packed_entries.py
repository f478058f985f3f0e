"""What nobody has read for a while is packed, and nobody notices."""

import asyncio

import pytest

from fleetqueue.api import packing
from fleetqueue.embedded.apiserver.storage import state
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

from .conftest import MAPS, config_map, create, key, names, update


@pytest.fixture(autouse=True)
def two_unpacked(monkeypatch):
    """A storage has two objects at hand, and packs at once what comes behind them."""
    monkeypatch.setattr(state, "UNPACKED", 2)
    monkeypatch.setattr(state, "MOST_UNPACKED", 2)


def is_packed(entry: StorageEntry) -> bool:
    return entry._object is None


async def test_the_entries_that_were_written_last_are_not_packed(storage):
    entries = [await create(storage, name) for name in "abcd"]

    assert [is_packed(entry) for entry in entries] == [True, True, False, False]


async def test_a_packed_object_is_what_was_written(storage):
    written = [await create(storage, name, color=name * 100) for name in "abcd"]

    found = storage.get(key("a"))

    assert found is written[0]
    assert found.object == {
        **config_map("a", color="a" * 100),
        "metadata": {"name": "a", "namespace": "ns", "resourceVersion": str(found.revision)},
    }


async def test_the_json_of_a_packed_object_leaves_it_packed(storage):
    first = await create(storage, "a", color="red")
    before = first.json
    for name in "bcd":
        await create(storage, name)

    assert first.json == before
    assert is_packed(first)


async def test_a_reader_makes_an_object_one_of_the_last(storage):
    entries = [await create(storage, name) for name in "abc"]

    unpacked = entries[0].object

    assert entries[0].object is unpacked
    assert [is_packed(entry) for entry in entries] == [False, True, False]


async def test_it_is_packed_again_when_others_follow(storage):
    first = await create(storage, "a")
    for name in "bc":
        await create(storage, name)
    _ = first.object

    for name in "de":
        await create(storage, name)

    assert is_packed(first)
    assert first.object["metadata"]["name"] == "a"


async def test_a_watch_hands_out_versions_that_were_packed(storage):
    watch = storage.watch(MAPS, since=storage.revision)
    await create(storage, "a", number="0")
    for number in range(1, 6):
        await update(storage, "a", number=str(number))

    changes = await watch.read()

    assert [change.entry.object["data"]["number"] for change in changes] == list("012345")


async def test_a_list_of_an_older_state_shows_versions_that_were_packed(storage):
    await create(storage, "a", number="0")
    then = storage.revision
    for number in range(1, 6):
        await update(storage, "a", number=str(number))

    page = storage.list(MAPS, at=then)

    assert [entry.object["data"] for entry in page.entries] == [{"number": "0"}]


async def test_a_writer_builds_on_a_packed_object(storage):
    for name in "abcd":
        await create(storage, name)

    await update(storage, "a", color="red")

    assert storage.get(key("a")).object["data"] == {"color": "red"}
    assert names(storage.list(MAPS)) == ["a", "b", "c", "d"]


async def test_what_a_burst_brings_is_packed_later(storage, monkeypatch):
    monkeypatch.setattr(state, "MOST_UNPACKED", 1000)
    monkeypatch.setattr(packing, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(packing, "PAUSE_SECONDS", 0.0)
    entries = [await create(storage, f"map-{number}") for number in range(packing.AT_ONCE + 4)]
    assert not is_packed(entries[-3])

    while not is_packed(entries[-3]):  # noqa: ASYNC110 - it has no event for what nobody waits for
        await asyncio.sleep(0)

    assert [is_packed(entry) for entry in entries[-3:]] == [True, False, False]

"""What is forgotten, when, and what the log is told of it."""

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage, Retention
from fleetqueue.testing.virtual_time import advance

from .conftest import MAPS, create, delete, key, names, started, told, update


async def test_from_a_forgotten_revision_nothing_is_listed_or_watched(storage):
    old = (await create(storage, "a")).revision
    await create(storage, "b")
    await storage.compact(storage.revision)

    with pytest.raises(errors.Gone, match="The resourceVersion for the provided list is too old") as caught:
        storage.list(MAPS, at=old)
    assert caught.value.reason == "Expired"

    with pytest.raises(errors.Gone, match=rf"too old resource version: {old} \({storage.compacted}\)"):
        storage.watch(MAPS, since=old)


async def test_the_compacted_revision_itself_can_be_listed_and_watched_from(storage):
    await create(storage, "a")
    compacted = storage.revision

    await storage.compact(compacted)
    await create(storage, "b")

    assert names(storage.list(MAPS, at=compacted)) == ["a"]
    assert told(await storage.watch(MAPS, since=compacted).read()) == [("ADDED", "b")]


async def test_objects_outlive_their_history(storage):
    await create(storage, "a")
    await update(storage, "a", color="red")

    await storage.compact(storage.revision)

    assert storage.get(key("a")).object["data"] == {"color": "red"}


async def test_a_compaction_never_goes_back_or_beyond_the_newest(storage):
    await create(storage, "a")
    await storage.compact(storage.revision + 100)
    assert storage.compacted == storage.revision

    await storage.compact(0)

    assert storage.compacted == storage.revision


async def test_the_log_hears_which_versions_nobody_can_see_any_more(held, held_storage):
    for work in (create(held_storage, "a"), create(held_storage, "b"), update(held_storage, "a")):
        await started(work)
    for work in (delete(held_storage, "b"), update(held_storage, "a", color="red")):
        await started(work)
    held.commit()
    first = held_storage.revision - 4

    await held_storage.compact(first + 3)
    await held_storage.compact(first + 4)

    assert held.compactions == [(first + 3, [first, first + 1, first + 3]), (first + 4, [first + 2])]


@pytest.mark.virtual_time
async def test_changes_are_forgotten_when_they_are_old():
    storage = await ClusterStorage.open(MemoryLog(), retention=Retention(seconds=600))
    for minute in range(60):
        await create(storage, f"minute-{minute:02}")
        await advance(60)

    remembered = await storage.watch(MAPS, since=storage.compacted).read()

    assert 10 <= len(remembered) <= 11
    assert told(remembered)[-1] == ("ADDED", "minute-59")
    with pytest.raises(errors.Gone):
        storage.watch(MAPS, since=storage.compacted - 1)


@pytest.mark.virtual_time
async def test_an_idle_cluster_forgets_nothing():
    storage = await ClusterStorage.open(MemoryLog())
    await create(storage, "a")

    await advance(3600)

    assert told(await storage.watch(MAPS, since=1).read()) == [("ADDED", "a")]


@pytest.mark.virtual_time
async def test_no_more_changes_are_remembered_than_asked_for():
    storage = await ClusterStorage.open(MemoryLog(), retention=Retention(events=20))

    for number in range(200):
        await create(storage, f"a{number:03}")

    remembered = storage.revision - storage.compacted
    assert 20 <= remembered <= 22
    assert len(await storage.watch(MAPS, since=storage.compacted).read()) == remembered
    assert len(storage.list(MAPS).entries) == 200

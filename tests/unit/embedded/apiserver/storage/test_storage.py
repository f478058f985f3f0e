"""The time between a mutation and its commit: who sees what, and what is left when the commit fails."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage

from .conftest import MAPS, config_map, create, delete, key, names, started, told, update


async def test_a_reader_sees_nothing_of_a_pending_change(held, held_storage):
    watch = held_storage.watch(MAPS, since=held_storage.revision)
    before = held_storage.revision

    writing = await started(create(held_storage, "a"))

    assert not writing.done()
    assert names(held_storage.list(MAPS)) == []
    assert held_storage.revision == before
    assert await watch.read(until=0) == []
    assert watch.revision == before
    with pytest.raises(errors.NotFound):
        held_storage.get(key("a"))

    held.commit()
    assert names(held_storage.list(MAPS)) == ["a"]
    assert told(await watch.read()) == [("ADDED", "a")]
    assert (await writing).revision == held_storage.revision


async def test_a_writer_builds_on_the_pending_head(held, held_storage):
    creating = await started(create(held_storage, "a"))

    updating = await started(update(held_storage, "a", color="red"))
    deleting = await started(delete(held_storage, "a"))
    again = await started(create(held_storage, "a", color="blue"))

    assert held_storage.head(key("a")).object["data"] == {"color": "blue"}
    held.commit()
    revisions = [entry.revision for entry in await asyncio.gather(creating, updating, deleting, again)]
    assert revisions == sorted(set(revisions))
    assert held_storage.get(key("a")).object["data"] == {"color": "blue"}


async def test_a_commit_shows_only_what_it_holds(held, held_storage):
    first = await started(create(held_storage, "a"))
    second = await started(update(held_storage, "a", color="red"))

    held.commit(1)
    await asyncio.sleep(0)

    assert (first.done(), second.done()) == (True, False)
    assert held_storage.get(key("a")).object["data"] == {}
    assert held_storage.head(key("a")).object["data"] == {"color": "red"}
    held.commit()
    await second


async def test_a_failed_commit_fails_the_whole_tail(held, held_storage):
    kept = await started(create(held_storage, "kept"))
    held.commit()
    await kept
    writers = [
        await started(work)
        for work in (create(held_storage, "a"), update(held_storage, "a", color="red"), delete(held_storage, "kept"))
    ]

    held.fail(OSError("disk full"))

    results = await asyncio.gather(*writers, return_exceptions=True)
    assert [type(result) for result in results] == [errors.ServerError] * 3
    assert all("disk full" in result.message and result.code == 500 for result in results)
    assert names(held_storage.list(MAPS)) == ["kept"]
    assert held_storage.head(key("a")) is None
    assert held_storage.head(key("kept")) is await kept


async def test_after_a_failed_commit_writing_goes_on_with_new_revisions(held, held_storage):
    watch = held_storage.watch(MAPS, since=held_storage.revision)
    lost = await started(create(held_storage, "a", color="red"))
    lost_revision = held_storage.head(key("a")).revision
    held.fail()
    await asyncio.wait({lost})
    assert isinstance(lost.exception(), errors.ServerError)

    writing = await started(create(held_storage, "a", color="blue"))
    held.commit()

    entry = await writing
    assert entry.revision > lost_revision
    assert [change.entry for change in await watch.read()] == [entry]


async def test_who_built_on_a_lost_version_is_stale_later(held, held_storage):
    lost = await started(create(held_storage, "a"))
    lost_revision = held_storage.head(key("a")).revision
    held.fail()
    await asyncio.wait({lost})
    assert lost.exception()
    again = await started(create(held_storage, "a"))
    held.commit()
    await again

    with pytest.raises(errors.Conflict):
        await held_storage.update(key("a"), config_map("a"), expected=lost_revision)


async def test_a_refusal_waits_for_what_it_rests_on(held, held_storage):
    await started(create(held_storage, "a"))

    refused = await started(create(held_storage, "a"))

    assert not refused.done()
    held.commit()
    await asyncio.wait({refused})
    assert isinstance(refused.exception(), errors.AlreadyExists)


async def test_a_refusal_by_something_lost_is_compared_again(held, held_storage):
    lost = await started(create(held_storage, "a", color="red"))
    second = await started(create(held_storage, "a", color="blue"))

    held.fail()
    await asyncio.wait({lost})
    await asyncio.sleep(0)
    held.commit()

    assert isinstance(lost.exception(), errors.ServerError)
    assert (await second).object["data"] == {"color": "blue"}


async def test_a_deletion_that_is_lost_lets_a_waiting_update_go_on(held, held_storage):
    creating = await started(create(held_storage, "a"))
    held.commit()
    revision = (await creating).revision
    deleting = await started(delete(held_storage, "a"))
    updating = await started(held_storage.update(key("a"), config_map("a", color="red"), expected=revision))
    assert not updating.done()

    held.fail()
    await asyncio.wait({deleting})
    await asyncio.sleep(0)
    held.commit()

    assert isinstance(deleting.exception(), errors.ServerError)
    assert (await updating).object["data"] == {"color": "red"}


async def test_who_waits_for_a_pending_revision_hears_of_its_failure(held, held_storage):
    writing = await started(create(held_storage, "a"))
    waiting = await started(held_storage.reached(held_storage.head(key("a")).revision))

    held.fail()

    results = await asyncio.gather(writing, waiting, return_exceptions=True)
    assert [type(result) for result in results] == [errors.ServerError] * 2


async def test_a_cancelled_writer_leaves_a_whole_change(held, held_storage):
    writing = await started(create(held_storage, "a"))
    other = await started(update(held_storage, "a", color="red"))

    writing.cancel()
    await asyncio.wait({writing})
    held.commit()

    assert writing.cancelled()
    assert (await other) is held_storage.get(key("a"))


async def test_a_writer_cancelled_before_it_began_leaves_nothing(held, held_storage):
    writing = asyncio.create_task(create(held_storage, "a"))
    writing.cancel()
    await asyncio.wait({writing})

    assert held.held == []
    assert held_storage.head(key("a")) is None


async def test_a_cancelled_writer_whose_commit_fails_disturbs_nobody(held, held_storage):
    writing = await started(create(held_storage, "a"))
    writing.cancel()
    await asyncio.wait({writing})

    held.fail()

    assert held_storage.head(key("a")) is None


async def test_what_is_no_json_is_refused_without_effect(held, held_storage):
    with pytest.raises(TypeError):
        await held_storage.create(key("a"), {"metadata": {"name": "a"}, "data": {"value": object()}})

    assert held.held == []
    assert held_storage.head(key("a")) is None


async def test_closing_waits_for_what_is_pending(held, held_storage):
    writing = await started(create(held_storage, "a"))
    closing = await started(held_storage.close())
    assert not closing.done()

    held.commit()

    await closing
    assert (await writing).revision == held_storage.revision


async def test_closing_does_not_wait_for_what_was_lost(held, held_storage):
    lost = await started(create(held_storage, "a"))
    held.fail()
    await asyncio.wait({lost})

    await held_storage.close()

    assert isinstance(lost.exception(), errors.ServerError)


async def test_in_memory_a_change_is_committed_within_the_call():
    storage = await ClusterStorage.open(MemoryLog())
    work = create(storage, "a")

    with pytest.raises(StopIteration):  # it ends without having waited once
        work.send(None)

    assert names(storage.list(MAPS)) == ["a"]

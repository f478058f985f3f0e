"""Watches over each log: nothing is missed, nothing comes twice, a slow one disturbs nobody."""

import asyncio
import gc
import weakref

import pytest

from fleetqueue import clock
from fleetqueue.api import errors

from .conftest import MAPS, config_map, create, delete, started, told, update


async def test_a_watch_tells_what_happens_in_order(storage):
    watch = storage.watch(MAPS, since=storage.revision)
    created = await create(storage, "a", color="red")
    updated = await update(storage, "a", color="blue")
    deleted = await delete(storage, "a")

    changes = await watch.read()

    assert [change.type for change in changes] == ["ADDED", "MODIFIED", "DELETED"]
    assert [change.entry for change in changes] == [created, updated, deleted]
    assert [change.previous for change in changes] == [None, created, updated]
    assert [change.revision for change in changes] == [created.revision, updated.revision, deleted.revision]


async def test_a_watch_from_the_past_begins_right_behind_it(storage):
    first = await create(storage, "a")
    await create(storage, "b")
    await create(storage, "c")

    watch = storage.watch(MAPS, since=first.revision)

    assert told(await watch.read()) == [("ADDED", "b"), ("ADDED", "c")]


async def test_a_waiting_watch_is_woken(storage):
    watch = storage.watch(MAPS, since=storage.revision)
    reading = await started(watch.read())

    await create(storage, "a")

    assert told(await reading) == [("ADDED", "a")]


async def test_a_watch_hears_only_of_its_prefix(storage):
    watch = storage.watch(MAPS + "ns/", since=storage.revision)
    reading = await started(watch.read())

    await create(storage, "a", "ns-2")
    await storage.create("/core/secrets/ns/s", config_map("s"))
    await create(storage, "b")

    assert told(await reading) == [("ADDED", "b")]


async def test_a_watch_of_everything_hears_of_all_kinds(storage):
    watch = storage.watch("/", since=storage.revision)

    await create(storage, "a")
    await storage.create("/core/secrets/ns/s", config_map("s"))

    assert told(await watch.read()) == [("ADDED", "a"), ("ADDED", "s")]


async def test_a_watch_from_the_future_is_silent_until_then(storage):
    watch = storage.watch(MAPS, since=storage.revision + 1)

    await create(storage, "a")
    await create(storage, "b")

    assert told(await watch.read()) == [("ADDED", "b")]


async def test_a_watch_is_an_iterator(storage):
    watch = storage.watch(MAPS, since=storage.revision)
    await create(storage, "a")
    await create(storage, "b")

    seen = [await anext(watch), await anext(watch)]

    assert told(seen) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_without_news_returns_nothing_after_its_timeout(storage):
    watch = storage.watch(MAPS, since=storage.revision)

    assert await watch.read(until=clock.monotonic() + 0.01) == []

    await create(storage, "a")
    assert told(await watch.read(until=clock.monotonic() + 0.01)) == [("ADDED", "a")]


async def test_a_reader_that_is_cancelled_misses_nothing(storage):
    watch = storage.watch(MAPS, since=storage.revision)
    reading = await started(watch.read())
    reading.cancel()
    await asyncio.wait({reading})

    await create(storage, "a")

    assert told(await watch.read()) == [("ADDED", "a")]


async def test_a_reader_that_has_left_is_not_remembered(storage):
    watch = storage.watch(MAPS, since=storage.revision)
    reading = await started(watch.read())
    reading.cancel()
    await asyncio.wait({reading})
    left = weakref.ref(watch)

    del watch, reading
    gc.collect()

    assert left() is None


async def test_a_bookmark_says_how_far_everything_was_handed_out(storage):
    watch = storage.watch(MAPS, since=storage.revision)
    first = await create(storage, "a")
    await create(storage, "b")

    await watch.read(limit=1)
    assert watch.revision == first.revision

    await watch.read()
    await storage.create("/core/secrets/ns/s", config_map("s"))
    assert watch.revision == storage.revision


async def test_a_bookmark_of_a_watch_from_the_future_is_not_before_it(storage):
    future = storage.revision + 10

    assert storage.watch(MAPS, since=future).revision == future


async def test_all_watches_share_what_is_encoded(storage):
    watches = [storage.watch(MAPS, since=storage.revision) for _ in range(3)]
    await create(storage, "a")

    encoded = [(await watch.read())[0].entry.json for watch in watches]

    assert encoded[0] is encoded[1] is encoded[2]


async def test_a_slow_watch_holds_up_nobody_and_ends_when_its_changes_are_forgotten(storage):
    slow = storage.watch(MAPS, since=storage.revision)
    fast = storage.watch(MAPS, since=storage.revision)
    for number in range(5):
        await create(storage, f"a{number}")
    assert len(await fast.read()) == 5
    seen = storage.revision

    await storage.compact(seen)

    with pytest.raises(errors.Gone, match="too old resource version") as caught:
        await slow.read()
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    await create(storage, "b")
    assert told(await fast.read()) == [("ADDED", "b")]


async def test_a_watch_that_has_read_all_survives_a_compaction(storage):
    watch = storage.watch(MAPS, since=storage.revision)
    reading = await started(watch.read())
    await storage.create("/core/secrets/ns/s", config_map("s"))

    await storage.compact(storage.revision)
    await create(storage, "a")

    assert told(await reading) == [("ADDED", "a")]


async def test_a_watch_far_behind_lets_others_run_meanwhile(storage):
    since = storage.revision
    await asyncio.gather(*(create(storage, f"a{number}") for number in range(2500)))
    await create(storage, "b", "other")
    watch = storage.watch(MAPS + "other/", since=since)

    assert told(await watch.read()) == [("ADDED", "b")]


async def test_every_watch_sees_the_same_order(storage):
    watches = [storage.watch(MAPS, since=storage.revision) for _ in range(5)]

    await asyncio.gather(*(create(storage, f"a{number}") for number in range(20)))

    orders = [[change.revision for change in await watch.read()] for watch in watches]
    assert all(order == orders[0] for order in orders)
    assert orders[0] == sorted(orders[0])
    assert len(orders[0]) == 20

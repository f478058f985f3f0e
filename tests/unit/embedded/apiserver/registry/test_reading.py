"""What readers see: one object, pages of a list, and what happens."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.registry.deletion import DeleteOptions
from fleetqueue.embedded.apiserver.registry.list_options import list_options
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.apiserver.registry.conftest import MAPS, a_write

pytestmark = pytest.mark.virtual_time


def options(**query):
    return list_options(MAPS, query)


def names(listed):
    return [entry.object["metadata"]["name"] for entry in listed.entries]


class Follower:
    """Reads a watch in the background."""

    def __init__(self, reading, namespace="ns", **query):
        self.seen = []
        self.error = None
        self.events = reading.watch(MAPS, namespace, list_options(MAPS, query, watch=True))
        self.task = asyncio.ensure_future(self._follow())

    async def _follow(self):
        try:
            async for event in self.events:
                name = event.entry.object["metadata"]["name"] if event.entry else f"@{event.revision}"
                self.seen.append(f"{event.type} {name}")
        except errors.Gone as error:
            self.error = error

    async def tell(self):
        await advance(0.01)
        told, self.seen = self.seen, []
        return told


# Lists


async def test_a_list_is_in_the_order_of_names(create, reading):
    for name in ("b", "a", "c"):
        await create(name)

    listed = await reading.list(MAPS, "ns", options())

    assert names(listed) == ["a", "b", "c"]
    assert (listed.token, listed.remaining) == ("", None)


async def test_pages_show_the_state_of_the_first(create, reading):
    for name in "abcd":
        await create(name)

    first = await reading.list(MAPS, "ns", options(limit="2"))
    await create("bb")
    second = await reading.list(MAPS, "ns", options(limit="2", **{"continue": first.token}))

    assert (names(first), first.remaining) == (["a", "b"], 2)
    assert (names(second), second.token) == (["c", "d"], "")
    assert second.revision == first.revision


async def test_selected_pages_do_not_say_how_many_remain(create, reading):
    for name in "abc":
        await create(name, labels={"app": "x"})
    await create("other")

    first = await reading.list(MAPS, "ns", options(limit="2", labelSelector="app=x"))
    second = await reading.list(MAPS, "ns", options(limit="2", labelSelector="app=x", **{"continue": first.token}))

    assert (names(first), first.remaining) == (["a", "b"], None)
    assert names(second) == ["c"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"fieldSelector": "metadata.name=b"}, ["b"]),
        ({"fieldSelector": "metadata.name!=b"}, ["a", "c"]),
        ({"fieldSelector": "metadata.name=nobody"}, []),
        ({"labelSelector": "first"}, ["a"]),
        ({"labelSelector": "!first", "fieldSelector": "metadata.name!=c"}, ["b"]),
        ({"fieldSelector": "metadata.namespace=other"}, []),
    ],
)
async def test_selectors(create, reading, selector, expected):
    await create("a", labels={"first": ""})
    await create("b")
    await create("c")

    assert names(await reading.list(MAPS, "ns", options(**selector))) == expected


async def test_a_page_that_is_too_old_can_be_gone_on_without_consistency(create, reading, storage):
    for name in "abc":
        await create(name)
    first = await reading.list(MAPS, "ns", options(limit="1"))
    await create("d")
    await storage.compact(storage.revision)

    with pytest.raises(errors.Gone, match="The provided continue parameter is too old") as refused:
        await reading.list(MAPS, "ns", options(limit="1", **{"continue": first.token}))
    rest = await reading.list(MAPS, "ns", options(**{"continue": refused.value.token}))

    assert names(rest) == ["b", "c", "d"]


async def test_a_list_of_a_revision_is_exact(create, reading):
    entry = await create("a")
    await create("b")

    exact = options(resourceVersion=str(entry.revision), resourceVersionMatch="Exact")
    newer = options(resourceVersion=str(entry.revision))

    assert names(await reading.list(MAPS, "ns", exact)) == ["a"]
    assert names(await reading.list(MAPS, "ns", newer)) == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ({"continue": "nonsense!"}, errors.BadRequest, "invalid continue token"),
        ({"continue": "e30"}, errors.BadRequest, "invalid continue token"),
        ({"labelSelector": "a b"}, errors.BadRequest, "unable to parse requirement"),
        ({"fieldSelector": "spec.foo=1"}, errors.BadRequest, "is not a known field selector"),
        ({"resourceVersion": "x"}, errors.BadRequest, "invalid resource version"),
        ({"limit": "x"}, errors.BadRequest, "invalid syntax"),
        ({"resourceVersionMatch": "Exact"}, errors.Invalid, "forbidden unless resourceVersion is provided"),
        ({"resourceVersionMatch": "No", "resourceVersion": "1"}, errors.Invalid, 'Unsupported value: "No"'),
        (
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            errors.Invalid,
            'forbidden for resourceVersion "0"',
        ),
        ({"sendInitialEvents": "true"}, errors.Invalid, "sendInitialEvents is forbidden for list"),
    ],
)
async def test_bad_questions_are_refused(reading, query, error, message):
    with pytest.raises(error, match=message):
        await reading.list(MAPS, "ns", options(**query))


# Watches


async def test_a_watch_tells_what_happens_after_a_revision(create, store, reading):
    entry = await create("a")
    follower = Follower(reading, resourceVersion=str(entry.revision))
    await create("b")
    await store.update(MAPS, "ns", "a", lambda live: {**live, "data": {"k": "v"}}, a_write())
    await store.delete(MAPS, "ns", "b", DeleteOptions(), a_write())

    assert await follower.tell() == ["ADDED b", "MODIFIED a", "DELETED b"]


async def test_without_a_revision_a_watch_begins_with_what_is_there(create, reading):
    await create("a")

    follower = Follower(reading)

    assert await follower.tell() == ["ADDED a"]


async def test_the_end_of_what_is_there_can_be_marked(create, reading, storage):
    await create("a")

    follower = Follower(reading, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="1")

    assert await follower.tell() == ["ADDED a", f"BOOKMARK @{storage.revision}"]


async def test_an_object_comes_into_sight_and_goes_out_of_it(create, store, reading):
    entry = await create("a")
    follower = Follower(reading, resourceVersion=str(entry.revision), labelSelector="app=x")

    def labelled(labels):
        return lambda live: {**live, "metadata": {**live["metadata"], "labels": labels}}

    for labels in ({"app": "x"}, {"app": "x", "more": "y"}, {"app": "z"}, {"app": "w"}):
        await store.update(MAPS, "ns", "a", labelled(labels), a_write())

    assert await follower.tell() == ["ADDED a", "MODIFIED a", "DELETED a"]


async def test_bookmarks_come_every_minute_and_before_the_end(reading, storage):
    follower = Follower(reading, resourceVersion="1", allowWatchBookmarks="true", timeoutSeconds="100")

    await advance(61)
    assert follower.seen == ["BOOKMARK @1"]
    await advance(40)

    assert follower.seen == ["BOOKMARK @1", "BOOKMARK @1"]
    assert follower.task.done()


async def test_a_watch_from_before_all_that_is_remembered_ends(create, reading, storage):
    await create("a")
    await create("b")
    await storage.compact(storage.revision)
    follower = Follower(reading, resourceVersion="1")
    await follower.tell()

    assert follower.error.reason == "Expired"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"sendInitialEvents": "true"}, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ({"resourceVersionMatch": "NotOlderThan"}, "forbidden for watch unless sendInitialEvents is provided"),
    ],
)
def test_bad_watches_are_refused(query, message):
    with pytest.raises(errors.Invalid, match=message):
        list_options(MAPS, query, watch=True)

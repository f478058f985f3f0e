"""What an informer makes of single lines of a stream: scripts for what a well-behaved API cannot be made to do."""

import asyncio
import weakref
from contextlib import asynccontextmanager

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.requests import Response
from fleetqueue.client import Client
from fleetqueue.runtime.informer import INITIAL_EVENTS_END, PAGE, PIECE, Informer
from fleetqueue.testing.virtual_time import advance, running

pytestmark = pytest.mark.virtual_time


def event(kind, name="", version="1"):
    return {"type": kind, "object": {"metadata": {"name": name, "namespace": "ns", "resourceVersion": version}}}


def bookmark(version, *, ends_initial_events=False):
    metadata = {"resourceVersion": version}
    if ends_initial_events:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    return {"type": "BOOKMARK", "object": {"metadata": metadata}}


class Script:
    """A door whose every stream says the next lines of a script; the last one goes on for ever."""

    def __init__(self, *streams):
        self.streams = list(streams)
        self.queries = []
        self.status = 200

    @asynccontextmanager
    async def stream(self, request, *, silence):
        self.queries.append(request.query)
        yield self

    async def lines(self):
        for line in self.streams.pop(0) if self.streams else ():
            if isinstance(line, Exception):
                raise line
            yield line


async def follow(*streams, seconds=5.0):
    script = Script(*streams)
    informer = Informer(Client(script), ConfigMap)
    async with running(informer.run()):
        await advance(seconds)
    return informer, script


def versions(informer):
    return {obj.name: obj.metadata.resource_version for obj in informer.store.all()}


@pytest.mark.parametrize(
    ("meanwhile", "versions_after"),
    [
        pytest.param([event("MODIFIED", "a", "7")], {"a": "7", "b": "2"}, id="changed"),
        pytest.param([event("DELETED", "a", "7")], {"b": "2"}, id="deleted"),
        pytest.param([event("DELETED", "a", "7"), event("ADDED", "a", "8")], {"a": "8", "b": "2"}, id="made again"),
        pytest.param([event("ADDED", "c", "7")], {"a": "1", "b": "2", "c": "7"}, id="added"),
    ],
)
async def test_what_happens_while_the_initial_events_are_sent_is_not_lost(meanwhile, versions_after):
    initial = [event("ADDED", "a", "1"), event("ADDED", "b", "2")]

    informer, _ = await follow([*initial, *meanwhile, bookmark("9", ends_initial_events=True)])

    assert versions(informer) == versions_after
    assert informer.synced.is_set()


@pytest.mark.parametrize("ending", [[], [errors.Unreachable("reset")]], ids=["cleanly", "broken"])
async def test_initial_events_that_did_not_end_are_asked_for_again(ending):
    cut_short = [event("ADDED", "a", "1"), bookmark("3"), event("MODIFIED", "a", "4"), *ending]

    informer, script = await follow(
        cut_short, [event("ADDED", "b", "2"), bookmark("9", ends_initial_events=True)], seconds=1.5
    )

    assert script.queries[1]["sendInitialEvents"] == "true"
    assert versions(informer) == {"b": "2"}


async def test_half_of_the_initial_events_are_not_shown():
    informer, _ = await follow([event("ADDED", "a", "1"), event("MODIFIED", "a", "2")])

    assert versions(informer) == {}
    assert not informer.synced.is_set()


@pytest.mark.parametrize(
    "ending",
    [[], [errors.Unreachable("reset")], [{"type": "ERROR", "object": {"code": 500, "message": "etcd is away"}}]],
    ids=["cleanly", "broken", "with a server error"],
)
async def test_the_next_watch_begins_after_the_last_event(ending):
    first = [event("ADDED", "a", "1"), bookmark("5", ends_initial_events=True), event("MODIFIED", "a", "6"), *ending]
    second = [event("MODIFIED", "a", "7"), bookmark("8"), *ending]

    _, script = await follow(first, second, seconds=3)

    assert [query.get("resourceVersion") for query in script.queries[:3]] == [None, "6", "8"]


async def test_every_watch_asks_for_bookmarks_and_an_end():
    _, script = await follow([bookmark("1", ends_initial_events=True)], [], [], seconds=60)

    assert all(query["allowWatchBookmarks"] == "true" for query in script.queries)
    assert all(1800 <= int(query["timeoutSeconds"]) <= 3600 for query in script.queries)


async def test_a_new_list_tells_only_of_what_differs():
    told = []
    again = [event("ADDED", "a", "1"), event("ADDED", "b", "9"), bookmark("9", ends_initial_events=True)]
    expired = {"type": "ERROR", "object": {"code": 410, "message": "too old"}}
    script = Script(
        [event("ADDED", "a", "1"), event("ADDED", "b", "2"), bookmark("5", ends_initial_events=True), expired], again
    )
    informer = Informer(Client(script), ConfigMap)
    informer.subscribe(lambda old, new: told.append((new.name, new.metadata.resource_version)))

    async with running(informer.run()):
        await advance(2)

    assert told == [("a", "1"), ("b", "2"), ("b", "9")]


# Long lists


class Whole(dict):
    """An object as it came; unlike a plain dict, it can be seen to be gone."""

    __hash__ = object.__hash__


class LongList:
    """A door with very many Workloads that counts how many whole ones are in memory; lists in one request or two."""

    status = 200

    def __init__(self, size, *, streams):
        self.size = size
        self.streams = streams
        self.most = 0
        self.alive = weakref.WeakSet()

    def made(self, number):
        metadata = {"name": f"w{number}", "namespace": "ns", "resourceVersion": str(number + 1)}
        found = Whole(metadata=metadata, spec={"podSets": [{"name": "main"}]})
        self.alive.add(found)
        self.most = max(self.most, len(self.alive))
        return found

    async def request(self, request, *, timeout):
        first = int(request.query.get("continue", 0))
        last = min(self.size, first + int(request.query["limit"]))
        metadata = {"resourceVersion": "9999", **({"continue": str(last)} if last < self.size else {})}
        return Response(200, {"metadata": metadata, "items": [self.made(number) for number in range(first, last)]})

    @asynccontextmanager
    async def stream(self, request, *, silence):
        self.is_list = "sendInitialEvents" in request.query
        self.status = 400 if self.is_list and not self.streams else 200
        yield self

    async def body(self):
        return {"message": "what?"}

    async def lines(self):
        if self.is_list:
            for number in range(self.size):
                yield {"type": "ADDED", "object": self.made(number)}
            yield bookmark("9999", ends_initial_events=True)
        await asyncio.Event().wait()


@pytest.mark.parametrize(("streams", "most"), [(True, 2), (False, 2 * PAGE)], ids=["streamed", "in pages"])
async def test_a_long_list_is_trimmed_as_it_arrives(streams, most):
    door = LongList(10 * PAGE, streams=streams)
    informer = Informer(Client(door), kueue.Workload)

    async with running(informer.run()):
        await informer.synced.wait()

    assert len(informer.store) == door.size
    assert door.most <= most


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "in pages"])
async def test_others_have_turns_while_a_long_list_comes(streams):
    informer = Informer(Client(LongList(10 * PIECE, streams=streams)), kueue.Workload)
    told_in_turn, turn = {}, 0

    def hear(old, new):
        assert not informer.synced.is_set()
        told_in_turn[turn] = told_in_turn.get(turn, 0) + 1

    async def count_turns():
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    informer.subscribe(hear)
    async with running(informer.run()), running(count_turns()):
        await informer.synced.wait()

    assert sum(told_in_turn.values()) == 10 * PIECE
    assert max(told_in_turn.values()) <= PIECE


async def test_what_a_new_list_shows_unchanged_is_not_read_again():
    expired = {"type": "ERROR", "object": {"code": 410, "message": "too old"}}
    listed = [event("ADDED", "a", "1"), bookmark("5", ends_initial_events=True)]
    informer = Informer(Client(Script([*listed, expired], listed)), ConfigMap)
    seen = []
    informer.subscribe(lambda old, new: seen.append(new))

    async with running(informer.run()):
        await advance(2)

    assert [informer.store.get("ns/a")] == seen
    assert informer.store.get("ns/a") is seen[0]

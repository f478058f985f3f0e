"""An informer's store is right, and its handlers hear of every object and every deletion, whatever the server does."""

import asyncio
from typing import Annotated

import msgspec
import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.client import Client
from fleetqueue.runtime.informer import Informer, WatchScope
from fleetqueue.testing.virtual_time import advance, running, settle

EXPIRED = errors.Gone("too old resource version", reason="Expired")


class Picky(ConfigMap):
    """A view that cannot read all that the server takes."""

    data: dict[str, Annotated[str, msgspec.Meta(max_length=1)]] = {}  # noqa: RUF012 - msgspec copies it


@pytest.fixture
def kind():
    return ConfigMap


@pytest.fixture
def informer(api, kind):
    return Informer(Client(api), kind)


@pytest.fixture
def told(informer):
    """What a handler heard, as (was, is): the data's value before and after."""
    heard = []

    def hear(old, new):
        heard.append(
            (new or old).name + " " + " -> ".join(obj.data.get("v", "") if obj else "none" for obj in (old, new))
        )

    informer.subscribe(hear)
    return heard


def put(api, name, value="1", **labels):
    if api.get(ConfigMap, name, "ns") is None:
        api.add(ConfigMap.manifest(name, "ns", labels=labels, data={"v": value}))
    else:
        api.change(ConfigMap, name, "ns", data={"v": value})


def stored(informer):
    return {obj.name: obj.data["v"] for obj in informer.store.all()}


async def test_what_exists_is_told_and_then_what_changes(api, informer, told):
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        put(api, "b")
        put(api, "a", "2")
        api.remove(ConfigMap, "b", "ns")
        await settle()

    assert told == ["a none -> 1", "b none -> 1", "a 1 -> 2", "b 1 -> none"]
    assert stored(informer) == {"a": "2"}


async def test_list_and_watch_are_one_request_where_the_server_can(api, informer):
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()

    assert api.requests == ["watch configmaps"]


@pytest.mark.parametrize("refusal", [errors.BadRequest("what?"), errors.Invalid("sendInitialEvents: Forbidden")])
async def test_a_server_that_cannot_is_listed_and_watched_and_not_asked_again(api, informer, told, refusal):
    put(api, "a")
    api.fail_on("watch configmaps", refusal, times=1)

    async with running(informer.run()):
        await informer.synced.wait()
        put(api, "b")
        await settle()
        api.end_watches(EXPIRED)
        await advance(5)

    assert told == ["a none -> 1", "b none -> 1"]
    assert api.requests[0] == "watch configmaps"
    assert api.requests[1:] == ["list configmaps", "watch configmaps"] * 2


async def test_an_older_server_works_from_beginning_to_end(api, informer, told):
    api.serves_watch_lists = False
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        api.remove(ConfigMap, "a", "ns")
        await settle()

    assert told == ["a none -> 1", "a 1 -> none"]


async def test_synced_waits_for_everything(api, informer):
    for number in range(1200):
        put(api, f"c{number}")
    api.serves_watch_lists = False

    async with running(informer.run()):
        await informer.synced.wait()

    assert len(informer.store) == 1200


async def test_a_handler_that_comes_late_is_told_of_all_there_is(api, informer):
    put(api, "a")
    late = []

    async with running(informer.run()):
        await informer.synced.wait()
        informer.subscribe(lambda old, new: late.append((old, new.name)))

    assert late == [(None, "a")]


async def test_only_what_the_selector_chooses_is_followed(api):
    informer = Informer(Client(api), ConfigMap, WatchScope("ns", "tier=x", "metadata.name=a"))
    put(api, "a", tier="x")
    put(api, "b", tier="x")
    api.add(ConfigMap.manifest("a", "elsewhere", labels={"tier": "x"}))

    async with running(informer.run()):
        await informer.synced.wait()
        first = set(informer.store.keys())
        api.change(ConfigMap, "a", "ns", metadata={"labels": {"tier": "y"}})
        await settle()

    assert first == {"ns/a"}
    assert informer.store.keys() == set()


@pytest.mark.parametrize("kind", [Picky])
@pytest.mark.parametrize("lists", ["one request", "two requests"])
async def test_an_object_that_cannot_be_read_does_not_hide_the_others(api, informer, told, lists):
    api.serves_watch_lists = lists == "one request"
    api.add(ConfigMap.manifest("odd", "ns", data={"v": "too long"}))
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        api.change(ConfigMap, "a", "ns", data={"v": "longer"})
        put(api, "b")
        await settle()
        api.remove(ConfigMap, "a", "ns")
        api.remove(ConfigMap, "odd", "ns")
        await settle()

    assert told == ["a none -> 1", "b none -> 1", "a 1 -> none"]


# When the stream breaks


async def test_after_a_broken_connection_the_watch_goes_on_where_it_was(api, informer, told):
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        put(api, "a", "2")
        put(api, "a", "3")
        await settle()
        told.clear()
        api.cut()
        put(api, "a", "4")
        await advance(1)
        problem = informer.problem
        api.heal()
        await advance(60)

    assert "connection refused" in problem
    assert informer.problem == ""
    assert told == ["a 3 -> 4"]
    assert api.requests == ["watch configmaps"] * 2


async def test_what_was_deleted_meanwhile_is_told_after_a_new_list(api, informer, told):
    put(api, "a")
    put(api, "b")

    async with running(informer.run()):
        await informer.synced.wait()
        told.clear()
        api.cut()
        api.remove(ConfigMap, "a", "ns")
        put(api, "c")
        api.compact()
        api.heal()
        await advance(60)

    assert sorted(told) == ["a 1 -> none", "c none -> 1"]
    assert stored(informer) == {"b": "1", "c": "1"}


@pytest.mark.parametrize("lists", ["one request", "two requests"])
async def test_an_expired_stream_is_listed_anew(api, informer, told, lists):
    api.serves_watch_lists = lists == "one request"
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        told.clear()
        api.end_watches(EXPIRED)
        api.remove(ConfigMap, "a", "ns")
        put(api, "b")
        await advance(5)
        put(api, "b", "2")
        await settle()

    assert sorted(told) == ["a 1 -> none", "b 1 -> 2", "b none -> 1"]


async def test_expired_as_an_answer_means_a_new_list_too(api, informer, told):
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        told.clear()
        api.fail_on("watch configmaps", EXPIRED, times=1)
        api.end_watches()
        api.remove(ConfigMap, "a", "ns")
        await advance(5)

    assert told == ["a 1 -> none"]


async def test_a_bookmark_spares_a_quiet_watch_the_new_list(api, informer, told):
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        api.add(ConfigMap.manifest("x", "ns"))
        api.remove(ConfigMap, "x", "ns")
        await advance(61)  # a bookmark comes every minute
        api.compact()
        told.clear()
        api.end_watches()
        await advance(5)
        put(api, "a", "2")
        await settle()

    assert told == ["a 1 -> 2"]


async def test_a_stream_that_the_server_ends_is_opened_again_and_nothing_is_told_twice(api, informer, told):
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        await advance(4 * 3600)
        put(api, "a", "2")
        await advance(60)

    assert told == ["a none -> 1", "a 1 -> 2"]
    assert 4 * 1 <= len(api.requests) <= 4 * 2 + 2
    assert "list configmaps" not in api.requests


async def test_a_server_that_ends_every_stream_at_once_is_not_stormed(api, informer):
    async def end_at_once():
        while True:
            await asyncio.sleep(0.1)
            api.end_watches()

    async with running(informer.run()), running(end_at_once()):
        await advance(600)

    assert len(api.requests) < 60


async def test_a_connection_that_fell_silent_is_given_up(api, informer, told):
    put(api, "a")

    async with running(informer.run()):
        await informer.synced.wait()
        api.cut(silently=True)
        put(api, "a", "2")
        api.heal()
        await advance(700)

    assert told == ["a none -> 1", "a 1 -> 2"]


@pytest.mark.parametrize(
    "refusal",
    [
        errors.Unauthorized("who are you?"),
        errors.Forbidden("workloads is forbidden"),
        errors.NotFound("the server could not find the requested resource"),
        errors.ServerError("etcd is away"),
        errors.TooManyRequests("later"),
        errors.Unreachable("connection refused"),
    ],
)
async def test_no_refusal_is_final(api, informer, refusal):
    put(api, "a")
    api.fail_on("* configmaps", refusal)

    async with running(informer.run()):
        await advance(300)
        while_refused = (informer.synced.is_set(), informer.problem, len(api.requests))
        api.heal()
        await advance(60)

    synced, problem, requests = while_refused
    assert (synced, problem) == (False, str(refusal))
    assert 5 < requests < 30
    assert informer.synced.is_set()
    assert informer.problem == ""
    assert stored(informer) == {"a": "1"}


async def test_a_server_that_asks_for_patience_gets_it(api, informer):
    busy = errors.TooManyRequests("later", details={"retryAfterSeconds": 50})
    api.fail_on("watch configmaps", busy, times=1)

    async with running(informer.run()):
        await advance(49)
        early = len(api.requests)
        await advance(2)

    assert early == 1
    assert informer.synced.is_set()


@pytest.mark.parametrize("asked", ["soon", pytest.param(10**400, id="huge"), 86400])
async def test_a_server_that_asks_for_nonsense_or_a_day_is_watched_again_within_a_minute(api, informer, asked):
    busy = errors.ServerError("repair", code=503, details={"retryAfterSeconds": asked})
    api.fail_on("watch configmaps", busy, times=1)

    async with running(informer.run()):
        await advance(61)

    assert informer.synced.is_set()


async def test_a_stopped_informer_closes_its_watch(api, informer):
    async with running(informer.run()):
        await informer.synced.wait()
        open_while_running = api.open_watches

    assert (open_while_running, api.open_watches) == (1, 0)

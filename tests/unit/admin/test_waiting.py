"""Waiting for clusters: a wait ends with the event that fulfils it."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.admin.waiting import NoAnswer, NotInTime, Observed
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap, Secret
from fleetqueue.client import Client
from fleetqueue.testing.virtual_time import settle


async def test_a_wait_ends_with_the_event_that_fulfils_it(api):
    async with Observed({"hub": Client(api)}) as seen:
        seen.follow("hub", Secret, namespace="ns")
        asyncio.get_running_loop().call_later(7, lambda: api.add(Secret.manifest("x", "ns")))

        found = await seen.until(lambda: seen["hub"].get(Secret, "x", "ns"), limit=60, what="secret x")

        assert found.name == "x"
        assert clock.monotonic() == pytest.approx(7)


async def test_what_is_so_already_is_not_waited_for(api):
    api.add(Secret.manifest("x", "ns"))

    async with Observed({"hub": Client(api)}) as seen:
        seen.follow("hub", Secret, namespace="ns")
        await seen.until(lambda: seen["hub"].get(Secret, "x", "ns"), limit=60, what="secret x")

    assert clock.monotonic() == 0


async def test_a_wait_ends_at_its_limit_and_says_why(api):
    async with Observed({"hub": Client(api)}) as seen:
        seen.follow("hub", Secret)

        with pytest.raises(NotInTime, match=r"^secret x: not within 60 s; nobody wrote it$"):
            await seen.until(lambda: None, limit=60, what="secret x", why_not=lambda: "nobody wrote it")


async def test_what_time_alone_made_true_counts_at_the_end(api):
    async with Observed({"hub": Client(api)}) as seen:
        seen.follow("hub", Secret)

        assert await seen.until(lambda: clock.monotonic() >= 9, limit=10, what="time") is True


@pytest.mark.parametrize("limit", [0, -1, 60])
async def test_nothing_is_judged_by_what_was_not_listed(api, limit):
    api.add(Secret.manifest("x", "ns"))
    api.way.cut(silently=True)

    async with Observed({"hub": Client(api)}) as seen:
        seen.follow("hub", Secret, namespace="ns")

        with pytest.raises(NoAnswer, match=rf"^hub did not list its objects of kind Secret within {limit} s"):
            await seen.until(lambda: not seen["hub"].list(Secret), limit=limit, what="no secret is left")


async def test_why_nothing_was_listed_is_said(api):
    api.way.fail_on("watch secrets*", errors.Forbidden("you may not watch secrets"), times=100)

    async with Observed({"hub": Client(api)}) as seen:
        seen.follow("hub", Secret, namespace="ns")

        with pytest.raises(NoAnswer, match=r"within 60 s: you may not watch secrets$"):
            await seen.until(lambda: True, limit=60, what="anything")


async def test_what_is_listed_late_is_judged_within_the_same_limit(api):
    api.way.cut()
    asyncio.get_running_loop().call_later(20, api.way.heal)

    async with Observed({"hub": Client(api)}) as seen:
        seen.follow("hub", Secret, namespace="ns")
        with pytest.raises(NotInTime):
            await seen.until(lambda: None, limit=60, what="secret x")

    assert clock.monotonic() == pytest.approx(60)


async def test_two_may_wait_for_different_things(api):
    async with Observed({"hub": Client(api)}) as seen:
        seen.follow("hub", Secret)
        seen.follow("hub", ConfigMap)
        waits = [
            asyncio.create_task(seen.until(lambda k=kind: seen["hub"].list(k), limit=60, what="it"))
            for kind in (Secret, ConfigMap)
        ]
        await settle()
        api.add(ConfigMap.manifest("a", "ns"))
        await settle()
        api.add(Secret.manifest("b", "ns"))

        assert [found[0].name for found in await asyncio.gather(*waits)] == ["b", "a"]


async def test_watchers_are_told_of_what_came_and_went(api):
    told = []
    async with Observed({"hub": Client(api)}) as seen:
        seen.watch(lambda cluster, old, new: told.append((cluster, old and old.name, new and new.name)))
        seen.follow("hub", Secret)
        await settle()
        api.add(Secret.manifest("x", "ns"))
        await settle()
        api.remove(Secret, "x", "ns")
        await settle()

    assert told == [("hub", None, "x"), ("hub", "x", None)]

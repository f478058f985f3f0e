"""Caches first, then work; and when it stops, nothing is left behind."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, running, settle


class Counting(Controller):
    name = "counting"

    def __init__(self, hub):
        super().__init__(hub, Metrics())
        self.seen = []

    def watches(self):
        return (Watch(ConfigMap, by_key),)

    async def reconcile(self, key):
        self.seen.append((key, len(self.hub.list(ConfigMap))))


async def test_work_begins_when_every_cache_is_filled(api, hub):
    for number in range(3):
        api.add(ConfigMap.manifest(f"c{number}", "ns"))
    api.fail_on("* configmaps", errors.Unreachable("not yet"), times=3)
    manager = Manager(hub, [Counting(hub)])

    async with running(manager.run()):
        await settle()
        early = manager.ready.is_set()
        await advance(60)
        late = manager.ready.is_set()

    assert (early, late) == (False, True)
    assert sorted(manager.controllers[0].seen) == [(f"ns/c{number}", 3) for number in range(3)]


async def test_a_stopped_manager_leaves_no_task_no_timer_and_no_watch(api, hub):
    controller = Counting(hub)
    manager = Manager(hub, [controller])
    before = asyncio.all_tasks()

    async with running(manager.run()):
        await manager.ready.wait()
        controller.queue.add_after("ns/later", 60)
    await advance(120)

    assert asyncio.all_tasks() == before
    assert controller.seen == []
    assert api.open_watches == 0
    assert not manager.ready.is_set()


async def test_a_manager_can_be_stopped_before_it_is_ready(api, hub):
    api.fail_on("* configmaps", errors.Forbidden("no"))
    before = asyncio.all_tasks()

    async with running(Manager(hub, [Counting(hub)]).run()):
        await advance(5)

    assert asyncio.all_tasks() == before


async def test_a_key_in_work_is_stopped_with_the_manager(hub):
    class Endless(Counting):
        async def reconcile(self, key):
            try:
                await asyncio.sleep(1e9)
            finally:
                self.seen.append("stopped")

    controller = Endless(hub)

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await settle()

    assert controller.seen == ["stopped"]


async def test_a_defect_in_what_wakes_stops_the_manager_loudly(api, hub):
    class Broken(Counting):
        def watches(self):
            return (Watch(ConfigMap, lambda obj: [obj.no_such_field]),)

    api.add(ConfigMap.manifest("a", "ns"))

    with pytest.raises(ExceptionGroup) as raised:
        await Manager(hub, [Broken(hub)]).run()

    assert raised.group_contains(AttributeError, match="no_such_field")


async def test_two_controllers_share_a_cache(api, hub):
    api.add(ConfigMap.manifest("a", "ns"))
    one, two = Counting(hub), Counting(hub)

    async with running(Manager(hub, [one, two]).run()):
        await settle()

    assert one.seen == two.seen == [("ns/a", 1)]
    assert api.requests == ["watch configmaps"]

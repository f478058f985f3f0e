"""Changes become keys, and keys are worked on until they are right."""

import asyncio
import itertools

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.runtime.controller import PIECE, Controller, Watch, by_key
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.workqueue import LAST_RETRY
from fleetqueue.testing.virtual_time import advance, running, settle


class Recording(Controller):
    """Notes when which key is worked on, and fails as the test wants."""

    name = "recording"

    def __init__(self, hub, metrics=None):
        super().__init__(hub, metrics or Metrics())
        self.worked = []
        self.failures = []

    def watches(self):
        return (
            Watch(ConfigMap, by_key, namespace="ns"),
            Watch(kueue.MultiKueueConfig, lambda config: [f"ns/{name}" for name in config.spec.clusters]),
        )

    async def reconcile(self, key):
        self.worked.append((key, asyncio.get_running_loop().time()))
        if self.failures:
            raise self.failures.pop(0)

    @property
    def keys(self):
        return [key for key, _ in self.worked]

    @property
    def times(self):
        return [when for _, when in self.worked]


@pytest.fixture
def controller(hub):
    return Recording(hub)


def results(controller):
    found = controller.metrics.reconciles.collect()[0].samples
    return {sample.labels["result"]: sample.value for sample in found if sample.name.endswith("_total")}


async def test_an_object_wakes_itself(api, hub, controller):
    api.add(ConfigMap.manifest("a", "ns"), ConfigMap.manifest("a", "elsewhere"))

    async with running(Manager(hub, [controller]).run()):
        await settle()

    assert controller.keys == ["ns/a"]


async def test_a_change_wakes_who_was_meant_before_and_who_is_meant_now(api, hub, controller):
    api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["old", "both"]}))

    async with running(Manager(hub, [controller]).run()):
        await settle()
        controller.worked.clear()
        api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["both", "new"]})
        await settle()
        changed = sorted(controller.keys)
        controller.worked.clear()
        api.remove(kueue.MultiKueueConfig, "gpu")
        await settle()

    assert changed == ["ns/both", "ns/new", "ns/old"]
    assert sorted(controller.keys) == ["ns/both", "ns/new"]


async def test_a_key_can_be_woken_by_hand(hub, controller):
    async with running(Manager(hub, [controller]).run()):
        await settle()
        controller.wake("ns/x")
        await settle()

    assert controller.keys == ["ns/x"]


@pytest.mark.parametrize(
    ("failure", "result"),
    [
        (errors.Conflict("stale"), "stale"),
        (errors.AlreadyExists("taken"), "stale"),
        (errors.NotFound("gone"), "stale"),
        (errors.ServerError("boom"), "error"),
        (errors.Unreachable("refused"), "error"),
        (ZeroDivisionError(), "error"),
    ],
)
async def test_a_failed_key_comes_back_soon(hub, controller, failure, result):
    controller.failures = [failure]

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(1)

    assert controller.keys == ["a", "a"]
    assert controller.times[1] < 0.1
    assert results(controller) == {result: 1, "done": 1}


async def test_a_key_that_keeps_failing_comes_later_and_later(hub, controller):
    controller.failures = [errors.ServerError("boom")] * 100

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(3600)

    gaps = [later - earlier for earlier, later in itertools.pairwise(controller.times)]
    assert gaps[0] < 0.1
    assert LAST_RETRY * 0.8 <= gaps[-1] <= LAST_RETRY * 1.2


async def test_success_starts_patience_anew(hub, controller):
    controller.failures = [errors.ServerError("boom")] * 8

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(60)
        controller.worked.clear()
        controller.failures = [errors.ServerError("boom")]
        controller.wake("a")
        await advance(60)

    assert controller.times[1] - controller.times[0] < 0.1


async def test_a_key_waits_as_long_as_the_server_asked_for_whatever_changes_meanwhile(hub, controller):
    controller.failures = [errors.TooManyRequests("busy", details={"retryAfterSeconds": 20})]

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await settle()
        controller.wake("a")
        await advance(60)

    assert controller.times == [0, pytest.approx(20)]


@pytest.mark.parametrize("kind", [errors.ServerError, errors.TooManyRequests, errors.Conflict])
@pytest.mark.parametrize("asked", ["soon", pytest.param(10**400, id="huge")])
async def test_a_time_to_wait_that_is_none_does_not_stop_the_work(hub, controller, kind, asked):
    controller.failures = [kind("busy", details={"retryAfterSeconds": asked})]

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(1)

    assert controller.keys == ["a", "a"]


async def test_a_key_does_not_wait_for_a_day_because_a_server_asked_for_it(hub, controller):
    controller.failures = [errors.ServerError("repair", code=503, details={"retryAfterSeconds": 86400})]

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(100)

    assert controller.times == [0, pytest.approx(errors.LONGEST_WAIT)]


async def test_retry_later_is_no_failure_and_comes_when_it_said(hub, controller):
    controller.failures = [errors.ServerError("boom")] * 5 + [errors.RetryLater(30, "still draining")] * 2

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(100)

    assert len(controller.worked) == 8
    assert controller.times[6] - controller.times[5] == pytest.approx(30)
    assert results(controller) == {"error": 5, "later": 2, "done": 1}


async def test_a_change_does_not_wait_for_retry_later(hub, controller):
    controller.failures = [errors.RetryLater(3600, "later")]

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await settle()
        controller.wake("a")
        await settle()

    assert controller.keys == ["a", "a"]


async def test_what_only_a_change_can_help_is_not_tried_again(hub, controller):
    controller.failures = [errors.TerminalError("the name is taken")]

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(3600)
        once = list(controller.keys)
        controller.wake("a")
        await settle()

    assert once == ["a"]
    assert controller.keys == ["a", "a"]
    assert results(controller) == {"terminal": 1, "done": 1}


async def test_after_what_only_a_change_can_help_patience_starts_anew(hub, controller):
    controller.failures = [errors.ServerError("boom")] * 10 + [errors.TerminalError("no")]

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(600)
        controller.worked.clear()
        controller.failures = [errors.ServerError("boom")]
        controller.wake("a")
        await advance(60)

    assert controller.times[1] - controller.times[0] < 0.1


async def test_one_bad_key_does_not_stop_the_others(hub, controller):
    controller.failures = [ZeroDivisionError()]

    async with running(Manager(hub, [controller]).run()):
        controller.wake("bad")
        controller.wake("good")
        await settle()

    assert controller.keys == ["bad", "good"]


class Slow(Recording):
    """Takes ten seconds for a key."""

    concurrency = 2

    async def reconcile(self, key):
        await super().reconcile(key)
        await asyncio.sleep(10)


async def test_several_workers_never_work_on_one_key_at_once(hub):
    controller = Slow(hub)

    async with running(Manager(hub, [controller]).run()):
        for key in ("a", "b", "a", "c"):
            controller.wake(key)
        await advance(1)
        controller.wake("a")
        await advance(60)

    assert controller.worked == [("a", 0), ("b", 0), ("c", 10), ("a", 10)]


async def test_how_long_work_takes_is_measured(hub):
    controller = Slow(hub)

    async with running(Manager(hub, [controller]).run()):
        controller.wake("a")
        await advance(11)

    taken = controller.metrics.registry.get_sample_value(
        "fleetqueue_reconcile_seconds_sum", {"controller": "recording"}
    )
    assert taken == pytest.approx(10)


class Choosy(Recording):
    def watches(self):
        return (Watch(ConfigMap, by_key, facts=lambda config_map: config_map.data),)


async def test_a_change_of_what_is_not_looked_at_wakes_nobody(api, hub):
    controller = Choosy(hub)
    api.add(ConfigMap.manifest("a", "ns", data={"key": "one"}))

    async with running(Manager(hub, [controller]).run()):
        await settle()
        await hub.client.merge(ConfigMap.resource, "a", "ns", {"metadata": {"labels": {"new": "true"}}})
        await settle()
        labelled = list(controller.keys)
        await hub.client.merge(ConfigMap.resource, "a", "ns", {"data": {"key": "two"}})
        await settle()

    assert labelled == ["ns/a"]
    assert controller.keys == ["ns/a", "ns/a"]


async def test_another_object_of_the_same_name_wakes_whatever_it_says(api, hub):
    controller = Choosy(hub)
    api.add(ConfigMap.manifest("a", "ns", data={"key": "one"}))

    async with running(Manager(hub, [controller]).run()):
        await settle()
        await hub.client.delete(ConfigMap.resource, "a", "ns")
        await hub.client.create(ConfigMap.resource, ConfigMap.manifest("a", "ns", data={"key": "one"}))
        await settle()

    assert len(controller.keys) > 1


async def test_others_have_turns_while_many_keys_need_nothing(hub, controller):
    worked_in_turn, turn, all_done = {}, 0, asyncio.Event()

    async def reconcile(key):
        worked_in_turn[turn] = worked_in_turn.get(turn, 0) + 1
        if sum(worked_in_turn.values()) == 10 * PIECE:
            all_done.set()

    async def count_turns():
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    controller.reconcile = reconcile
    async with running(count_turns()), running(controller.work()):
        await controller.wake_each(str(number) for number in range(10 * PIECE))
        await asyncio.wait_for(all_done.wait(), 1)

    assert max(worked_in_turn.values()) <= PIECE

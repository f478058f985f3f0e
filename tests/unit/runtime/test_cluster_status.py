"""Conditions and finalizers: ours are written once, and those of others are left alone."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition
from fleetqueue.testing.virtual_time import advance, settle

ACTIVE = Condition.true("Active", "Generated", "all is well")
FINALIZER = "fleetqueue.dev/cleanup"


def check(*conditions):
    return kueue.AdmissionCheck.manifest("ac", status={"conditions": list(conditions)})


async def say(hub, *wanted):
    await settle()
    obj = hub.get(kueue.AdmissionCheck, "ac")
    written = await hub.set_conditions(obj, obj.status.conditions, wanted, {"Active", "Draining"})
    await settle()
    return written


def said(api):
    return {c.type: c for c in api.get(kueue.AdmissionCheck, "ac").status.conditions}


FOREIGN = {
    "type": "Foreign",
    "status": "True",
    "reason": "R",
    "message": "m",
    "lastTransitionTime": "2025-01-01T00:00:00Z",
}


async def test_conditions_of_others_are_left_alone(api, followed):
    api.add(check(FOREIGN))

    assert await say(followed, ACTIVE)

    assert said(api).keys() == {"Foreign", "Active"}
    assert api.writes == ["apply admissionchecks/ac/status"]


async def test_a_condition_that_is_said_already_is_not_said_again(api, followed):
    api.add(check())
    await say(followed, ACTIVE)
    api.writes.clear()

    assert not await say(followed, ACTIVE)
    assert api.writes == []


async def test_a_condition_that_is_not_wanted_any_more_goes(api, followed):
    api.add(check(FOREIGN))
    await say(followed, ACTIVE, Condition.true("Draining", "Draining", "one left"))

    assert await say(followed, ACTIVE)

    assert said(api).keys() == {"Foreign", "Active"}
    assert not await say(followed, ACTIVE)


async def test_the_transition_time_stays_while_the_status_stays(api, followed):
    api.add(check())
    await say(followed, ACTIVE)
    since = said(api)["Active"].last_transition_time
    await advance(60)
    await say(followed, Condition.true("Active", "Generated", "other words"))
    reworded = said(api)["Active"].last_transition_time
    await advance(60)
    await say(followed, Condition.false("Active", "NoClusters", "none"))

    assert reworded == since
    assert (said(api)["Active"].last_transition_time - since).total_seconds() == 120


async def test_conditions_never_reach_an_object_of_the_same_name_that_came_later(api, followed):
    api.add(check())
    await settle()
    seen = followed.get(kueue.AdmissionCheck, "ac")
    api.remove(kueue.AdmissionCheck, "ac")
    api.add(check())

    with pytest.raises(errors.Conflict):
        await followed.set_conditions(seen, (), [ACTIVE], {"Active"})


async def test_conditions_do_not_bring_a_deleted_object_back(api, followed):
    api.add(check())
    await settle()
    seen = followed.get(kueue.AdmissionCheck, "ac")
    api.remove(kueue.AdmissionCheck, "ac")

    with pytest.raises(errors.NotFound):
        await followed.set_conditions(seen, (), [ACTIVE], {"Active"})


# Finalizers


async def current(hub):
    await settle()
    return hub.get(kueue.AdmissionCheck, "ac")


async def test_a_finalizer_is_added_once_and_removed_once(api, followed):
    api.add(check())

    added = [await followed.add_finalizer(await current(followed), FINALIZER) for _ in range(2)]
    held = api.get(kueue.AdmissionCheck, "ac").metadata.finalizers
    removed = [await followed.remove_finalizer(await current(followed), FINALIZER) for _ in range(2)]

    assert (added, held, removed) == ([True, False], (FINALIZER,), [True, False])
    assert api.get(kueue.AdmissionCheck, "ac").metadata.finalizers == ()


async def test_finalizers_of_others_stay(api, followed):
    api.add(check())
    api.change(kueue.AdmissionCheck, "ac", metadata={"finalizers": ["other.dev/x"]})

    await followed.add_finalizer(await current(followed), FINALIZER)
    await followed.remove_finalizer(await current(followed), FINALIZER)

    assert api.get(kueue.AdmissionCheck, "ac").metadata.finalizers == ("other.dev/x",)


async def test_a_finalizer_that_another_added_meanwhile_is_not_lost(api, followed):
    api.add(check())
    seen = await current(followed)
    api.change(kueue.AdmissionCheck, "ac", metadata={"finalizers": ["other.dev/x"]})

    with pytest.raises(errors.Conflict):
        await followed.add_finalizer(seen, FINALIZER)


async def test_the_last_finalizer_lets_the_object_go(api, followed):
    api.add(check())
    await followed.add_finalizer(await current(followed), FINALIZER)
    api.remove(kueue.AdmissionCheck, "ac")
    dying = await current(followed)

    await followed.remove_finalizer(dying, FINALIZER)

    assert dying.is_deleting
    assert api.get(kueue.AdmissionCheck, "ac") is None

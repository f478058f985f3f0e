"""Server-side apply in memory does what the real one does: `pytest -m real tests/unit/testing` compares."""

import pytest

from fleetqueue.api import errors

ANOTHER = "00000000-0000-0000-0000-000000000000"
"""The uid of another object."""


def said(thing):
    return {condition["type"]: condition["status"] for condition in thing["status"].get("conditions", [])}


async def test_apply_creates_what_is_missing(things):
    made = await things.apply("me", spec={"a": 1})

    assert made["spec"] == {"a": 1}
    assert made["metadata"]["generation"] == 1


async def test_apply_needs_a_manager(things):
    with pytest.raises(errors.ApiError):
        await things.apply("", spec={"a": 1})


async def test_apply_removes_what_its_manager_wants_no_more(things):
    await things.apply("me", spec={"a": 1, "b": {"c": 2}})

    applied = await things.apply("me", spec={"a": 1})

    assert applied["spec"] == {"a": 1}


async def test_apply_leaves_what_others_set(things):
    await things.create(spec={"theirs": 1})
    await things.apply("me", spec={"mine": 1})

    applied = await things.apply("me", spec={"other": 2})

    assert applied["spec"] == {"theirs": 1, "other": 2}


async def test_a_field_of_two_managers_stays_until_both_let_go(things):
    await things.apply("one", spec={"a": 1, "b": 1})
    await things.apply("two", spec={"a": 1})

    after_one = await things.apply("one", spec={"b": 1})
    after_both = await things.apply("two", spec={"c": 1})

    assert after_one["spec"]["a"] == 1
    assert "a" not in after_both["spec"]


async def test_a_field_of_another_manager_is_taken_only_by_force(things):
    await things.apply("one", spec={"a": 1})

    with pytest.raises(errors.Conflict, match='conflict with "one"'):
        await things.apply_gently("two", a=2)
    same = await things.apply_gently("two", a=1)
    forced = await things.apply("two", spec={"a": 3})
    left = await things.apply("one", spec={"b": 1})

    assert same["spec"] == {"a": 1}
    assert forced["spec"] == {"a": 3}
    assert left["spec"] == {"a": 3, "b": 1}


async def test_who_changes_a_field_without_apply_owns_it(things):
    await things.apply("me", spec={"a": 1})
    await things.merge({"spec": {"a": 2}})

    with pytest.raises(errors.Conflict):
        await things.apply_gently("me", a=3)
    left = await things.apply("me", spec={"b": 1})

    assert left["spec"] == {"a": 2, "b": 1}


async def test_conditions_are_applied_one_by_one(things):
    await things.create()
    await things.say("one", ("Active", "True"), ("Draining", "True"))
    await things.say("two", ("Foreign", "True"))

    fewer = await things.say("one", ("Active", "False"))
    none = await things.say("one")

    assert said(fewer) == {"Active": "False", "Foreign": "True"}
    assert said(none) == {"Foreign": "True"}


async def test_applying_the_same_again_makes_no_new_version(things):
    await things.create()
    first = await things.say("me", ("Active", "True"))

    again = await things.say("me", ("Active", "True"))

    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_status_cannot_be_applied_to_what_is_not_there(things):
    with pytest.raises(errors.NotFound):
        await things.say("me", ("Active", "True"))


@pytest.mark.parametrize("exists", [True, False])
async def test_apply_for_another_object_of_that_name_is_a_conflict(things, exists):
    if exists:
        await things.create()

    with pytest.raises(errors.Conflict):
        await things.apply("me", spec={"a": 1}, metadata={"uid": ANOTHER})


async def test_apply_to_the_object_does_not_touch_its_status(things):
    await things.create()
    await things.say("me", ("Active", "True"))

    applied = await things.apply("me", spec={"a": 1}, status={"phase": "x"})

    assert said(applied) == {"Active": "True"}
    assert "phase" not in applied["status"]

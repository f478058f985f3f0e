"""Each scenario is about a rule: where the rule is made wrong, the scenario ends otherwise.

Each scenario is named by a mutation, each mutation is noticed, and nothing but the rule makes the difference.
"""

import sys
from fnmatch import fnmatchcase

import pytest

from fleetqueue.testing import virtual_time

from .comparing import differences
from .mutations.rooms import ROOMS

IN_THEIR_ROOMS = [pytest.param(room, each, id=f"{room.name}: {each.rule}") for room in ROOMS for each in room.mutations]
EACH_ROOM = pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)


def make_wrong(mutation, monkeypatch):
    """Put what is wrong in the place of the rule, also where a module has imported it."""
    right = next(each.__dict__[mutation.name] for each in _owners(mutation.of) if mutation.name in each.__dict__)
    of_ours = [module for name, module in sys.modules.items() if name.startswith("fleetqueue.")]
    monkeypatch.setattr(mutation.of, mutation.name, mutation.instead)
    for owner in of_ours:
        if owner.__dict__.get(mutation.name) is right:
            monkeypatch.setattr(owner, mutation.name, mutation.instead)


def otherwise_than_recorded(room, mutation):
    """Run the scenarios about a rule, and only these; return which ended otherwise than recorded."""
    ends, recorded = virtual_time.run(room.run_on_ours(room.named(mutation))), room.world.recorded()
    return [
        each["name"] for each in room.named(mutation) if differences(each, ends[each["name"]], recorded[each["name"]])
    ]


def _owners(of):
    """Return a module, or a class and those that it has its methods from."""
    return of.__mro__ if isinstance(of, type) else (of,)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("room", "mutation"), IN_THEIR_ROOMS)
def test_a_wrong_rule_is_noticed_by_its_scenarios(room, mutation, monkeypatch):
    make_wrong(mutation, monkeypatch)

    noticed = otherwise_than_recorded(room, mutation)

    assert noticed == [each["name"] for each in room.named(mutation)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("room", "mutation"), IN_THEIR_ROOMS)
def test_without_the_others_they_end_as_recorded_while_the_rule_is_right(room, mutation):
    assert otherwise_than_recorded(room, mutation) == []


@EACH_ROOM
def test_each_scenario_is_about_some_rule(room):
    about_one = {each["name"] for mutation in room.mutations for each in room.named(mutation)}

    assert [each["name"] for each in room.described if each["name"] not in about_one] == []


def test_each_pattern_names_a_scenario_of_some_room_that_must_notice_it():
    asked = [(room, mutation, pattern) for room in ROOMS for mutation in room.mutations for pattern in mutation.noticed]
    found = {
        (id(mutation), pattern)
        for room, mutation, pattern in asked
        if any(fnmatchcase(each["name"], pattern) for each in room.described)
    }

    assert [pattern for _, mutation, pattern in asked if (id(mutation), pattern) not in found] == []


@EACH_ROOM
def test_each_mutation_is_named_by_its_rule_alone(room):
    rules = [mutation.rule for mutation in room.mutations]

    assert len({*rules}) == len(rules)

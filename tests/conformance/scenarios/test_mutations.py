"""Each scenario of a kind of jobs is about a rule: where the rule is made wrong, the scenario ends otherwise."""

from fnmatch import fnmatchcase

import pytest

from fleetqueue.testing import virtual_time

from .comparing import differences
from .kueue_jobs import kinds, world
from .mutations import MUTATIONS

DESCRIBED = kinds.described()


def named(mutation):
    return [each for each in DESCRIBED if any(fnmatchcase(each["name"], pattern) for pattern in mutation.noticed)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_wrong_rule_is_noticed_by_its_scenarios(mutation, monkeypatch):
    monkeypatch.setattr(mutation.of, mutation.name, mutation.instead)

    ends = virtual_time.run(world.run_on_ours(named(mutation), is_checked=False))

    recorded = world.WORLD.recorded()
    noticed = [each for each in named(mutation) if differences(each, ends[each["name"]], recorded[each["name"]])]
    assert noticed == named(mutation)


def test_each_scenario_of_a_kind_is_about_some_rule():
    about_one = [each["name"] for mutation in MUTATIONS for each in named(mutation)]

    assert [each["name"] for each in DESCRIBED if each["name"] not in about_one] == []


def test_each_pattern_names_a_scenario():
    names = [each["name"] for each in DESCRIBED]

    assert [
        pattern
        for mutation in MUTATIONS
        for pattern in mutation.noticed
        if not any(fnmatchcase(name, pattern) for name in names)
    ] == []

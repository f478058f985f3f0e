"""Each scenario of a kind of jobs is about a rule: where the rule is made wrong, the scenario ends otherwise."""

import sys
from fnmatch import fnmatchcase

import pytest

from fleetqueue.testing import virtual_time

from .comparing import differences
from .integration_mutations import INTEGRATION_MUTATIONS
from .kueue_integrations import world as integrations
from .kueue_jobs import kinds
from .kueue_jobs import world as jobs
from .mutations import MUTATIONS

DESCRIBED = kinds.described()
IN_THEIR_WORLDS = [
    *(pytest.param(jobs, DESCRIBED, mutation, id=mutation.rule) for mutation in MUTATIONS),
    *(
        pytest.param(integrations, integrations.DESCRIBED, mutation, id=mutation.rule)
        for mutation in INTEGRATION_MUTATIONS
    ),
]


def named(mutation, described):
    return [each for each in described if any(fnmatchcase(each["name"], pattern) for pattern in mutation.noticed)]


def make_wrong(mutation, monkeypatch):
    """Put what is wrong in the place of the rule, also where a module has imported it."""
    right = mutation.of.__dict__[mutation.name]
    of_ours = [module for name, module in sys.modules.items() if name.startswith("fleetqueue.")]
    for owner in (mutation.of, *of_ours):
        if owner.__dict__.get(mutation.name) is right:
            monkeypatch.setattr(owner, mutation.name, mutation.instead)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("world", "described", "mutation"), IN_THEIR_WORLDS)
def test_a_wrong_rule_is_noticed_by_its_scenarios(world, described, mutation, monkeypatch):
    make_wrong(mutation, monkeypatch)

    ends = virtual_time.run(world.run_on_ours(named(mutation, described), is_checked=False))

    recorded = world.WORLD.recorded()
    noticed = [
        each["name"]
        for each in named(mutation, described)
        if differences(each, ends[each["name"]], recorded[each["name"]])
    ]
    assert noticed == [each["name"] for each in named(mutation, described)]


def test_each_scenario_of_a_kind_is_about_some_rule():
    about_one = [each["name"] for mutation in MUTATIONS for each in named(mutation, DESCRIBED)]

    assert [each["name"] for each in DESCRIBED if each["name"] not in about_one] == []


@pytest.mark.parametrize(
    ("mutations", "described"),
    [
        pytest.param(MUTATIONS, DESCRIBED, id="kueue_jobs"),
        pytest.param(INTEGRATION_MUTATIONS, integrations.DESCRIBED, id="kueue_integrations"),
    ],
)
def test_each_pattern_names_a_scenario(mutations, described):
    names = [each["name"] for each in described]

    assert [
        pattern
        for mutation in mutations
        for pattern in mutation.noticed
        if not any(fnmatchcase(name, pattern) for name in names)
    ] == []

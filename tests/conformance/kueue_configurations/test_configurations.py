"""To every configuration the embedded Kueue says what the real manager said."""

import pytest

from fleetqueue.embedded.kueue.configuration import BadConfiguration, read
from fleetqueue.embedded.kueue.feature_gates import GATES, effective
from tests.conformance.kueue_configurations.cases import load, recorded

RECORDED = recorded()
CASES = load()
GATES_ARGUMENT = "--feature-gates="


def said(case):
    gates = [argument.removeprefix(GATES_ARGUMENT) for argument in case.arguments]
    try:
        read(case.text, gates="".join(gates))
    except BadConfiguration as error:
        return str(error)
    return ""


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_a_configuration_is_answered_as_by_the_real_manager(case):
    assert said(case) == (RECORDED["refusals"][case.name] if case.ours is None else case.ours)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES if case.ours is not None])
def test_what_is_said_in_other_words_is_refused_by_the_real_manager_too(case):
    assert RECORDED["refusals"][case.name] not in ("", case.ours)


def test_every_recorded_case_is_still_there():
    assert {case.name for case in CASES} == RECORDED["refusals"].keys()


def test_the_gates_are_those_of_the_real_manager():
    known = RECORDED["gates"]

    assert {name: gate.default for name, gate in GATES.items()} == known["by default"]
    assert sorted(name for name, gate in GATES.items() if gate.is_locked) == known["locked"]


@pytest.mark.parametrize(("name", "value"), [("AllAlpha", True), ("AllBeta", False)])
def test_a_name_for_many_turns_the_gates_that_it_turns_in_the_real_manager(name, value):
    now = effective({name: value})

    assert sorted(gate for gate in GATES if now[gate] != GATES[gate].default) == RECORDED["gates"][name]

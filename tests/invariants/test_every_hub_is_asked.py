"""Wherever a test of whole systems has a hub with Kueue, `explain` is asked about its jobs when the test ends."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "system"
BRINGS_KUEUE = re.compile(
    r"\bset_up\(fleet\.|scenario=|--scenario|install\(.*KUEUE\)|embedded_fleet\.|bring_up\("
    r"|\"demo\"|fleetqueue demo|testing-your-operator"
)
"""What a file says that makes a fleet with Kueue, in this process or another."""
ASKS = re.compile(r"\b(check_answers|check_answers_at|standing_by|told_on)\(")

ASKED_BY = {
    "causes/world.py": "causes/world.py",
    "dashboard/fleet.py": "dashboard/conftest.py",
    "doctor/examined_fleet.py": "faults/fleet_template.py",
    "faults/fleet_template.py": "faults/fleet_template.py",
    "kinds/worlds.py": "kinds/worlds.py",
    "kit/test_action.py": "kit/test_action.py",
    "kit/test_guide.py": "kit/conftest.py",
    "kit/test_live_fleet.py": "kit/conftest.py",
    "kit/test_scenario.py": "kit/conftest.py",
    "pages/fleet.py": "pages/shell.py",
    "pages/test_typed_commands.py": "pages/shell.py",
    "pages/test_typed_pages.py": "pages/shell.py",
    "pages/test_typed_sentences.py": "pages/shell.py",
    "sockets/test_embedded_lab.py": "sockets/test_embedded_lab.py",
    "sockets/test_job_commands.py": "sockets/conftest.py",
    "sockets/test_kueue.py": "sockets/conftest.py",
    "sockets/test_mistakes.py": "sockets/conftest.py",
    "sockets/test_secrets.py": "sockets/conftest.py",
    "sockets/typed.py": "sockets/conftest.py",
    "stories/smaller_pages/worlds.py": "stories/worlds.py",
    "stories/worlds.py": "stories/worlds.py",
}
"""By the file that brings a hub with Kueue: the file that asks, when a test on it ends."""
NOT_ASKED = {
    "kit/test_sample_project.py": "its fleets are in a pytest of another environment, which has the wheel and no tests",
    "pages/page.py": "it only names the demo that no test types",
    "sockets/test_demo.py": "the demo is interrupted, and its fleet is gone with it",
    "sockets/test_exec_plugins.py": "it has no queue and no job: what Kueue says of connections is asked",
    "sockets/test_interrupts.py": "the fleet is interrupted, and is gone when the test can ask",
}


def names():
    return {str(path.relative_to(TESTS)): path.read_text() for path in sorted(TESTS.rglob("*.py"))}


def test_every_file_that_brings_kueue_is_asked_or_says_why_not():
    brings = {name for name, text in names().items() if BRINGS_KUEUE.search(text)}

    assert brings == ASKED_BY.keys() | NOT_ASKED.keys()


@pytest.mark.parametrize("asking", sorted(set(ASKED_BY.values())))
def test_who_is_to_ask_does(asking):
    assert ASKS.search(names()[asking])

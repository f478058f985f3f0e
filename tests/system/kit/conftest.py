"""A test that asks the plugin for a fleet ends with the question whether each job that waits there has an answer."""

import pytest

from tests.invariants.reasons import check_answers
from tests.system.asking import check_answers_at

ASKING = {"fleet": "answers_of_fleet", "live_fleet": "answers_of_live_fleet"}
"""What asks, by the fixture of the plugin that gives the fleet; one that has no Kueue has nothing to answer."""


def pytest_itemcollected(item: pytest.Item) -> None:
    names = getattr(item, "fixturenames", [])
    names += [asking for fixture, asking in ASKING.items() if fixture in names and asking not in names]


@pytest.fixture
async def answers_of_fleet(fleet):
    yield
    fleet.heal("hub")
    await check_answers(fleet.hub.client())


@pytest.fixture
def answers_of_live_fleet(live_fleet):
    yield
    live_fleet.heal("hub")
    check_answers_at(live_fleet.kubeconfig)

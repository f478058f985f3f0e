"""The three user stories in every world, told once in each; then one test for each id of the checklist."""

import pytest

from fleetqueue.demo.expectations import CHECKLIST, NOT_SHOWN
from tests.invariants.standing_by import INVARIANTS

from .worlds import WORLDS, Tellings

pytestmark = pytest.mark.timeout(900)

SHOWN = [
    pytest.param(world, one, id=f"{world.name}-{one}", marks=world.marks) for world in WORLDS for one in world.expected
]


@pytest.fixture(scope="session")
def tellings(tmp_path_factory):
    return Tellings(tmp_path_factory.mktemp)


@pytest.mark.parametrize(("world", "expectation"), SHOWN)
def test_the_stories_show(tellings, world, expectation):
    tellings.of(world).check(expectation)


@pytest.mark.parametrize("invariant", INVARIANTS)
@pytest.mark.parametrize("world", [pytest.param(world, id=world.name, marks=world.marks) for world in WORLDS])
def test_while_the_stories_are_told(tellings, world, invariant):
    assert tellings.of(world).broken[invariant] == []


def test_the_virtual_clock_tells_the_same_every_time(tellings, tmp_path):
    (world,) = (world for world in WORLDS if world.name == "virtual")

    assert world.tell(tmp_path).lines == tellings.of(world).lines


def test_every_id_of_the_checklist_is_shown_or_has_its_reason():
    assert {one for world in WORLDS for one in world.expected} == set(CHECKLIST)
    assert not set(CHECKLIST) & set(NOT_SHOWN)

"""Our parts end every scenario as upstream's ended it."""

import pytest

from fleetqueue.testing import virtual_time

from .comparing import differences
from .world import once
from .worlds import WORLDS

# The first test of a world runs all its scenarios, which takes up to 20 seconds of CPU.
pytestmark = pytest.mark.timeout(300)

EACH_WORLD = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


@pytest.fixture(scope="module")
def ours():
    return once(lambda world: virtual_time.run(world.run_on_ours()))


@EACH_WORLD
def test_there_is_a_record_of_every_scenario_and_of_no_other(world):
    assert sorted(world.recorded()) == sorted(described["name"] for described in world.described)


@EACH_WORLD
def test_the_record_is_what_these_versions_made_of_these_scenarios(world):
    assert world.is_sealed(), f"record them anew: python tools/record_scenarios.py {world.name}"


@pytest.mark.parametrize(
    ("world", "described"),
    [
        pytest.param(world, described, id=f"{world.name}: {described['name']}")
        for world in WORLDS
        for described in world.described
    ],
)
def test_it_ends_as_the_real_part_ended_it(ours, world, described):
    name = described["name"]

    assert differences(described, ours(world)[name], world.recorded()[name]) == []


@EACH_WORLD
def test_the_same_comes_out_twice(ours, world):
    assert virtual_time.run(world.run_on_ours(), seed=1) == ours(world)

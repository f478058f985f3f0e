"""The walkthroughs' smaller pages in both embedded worlds, told once in each; then a test for each id of the checklist.

For the same pages on real clusters see `test_seed_pages`, and the tests that are marked with an id.
"""

import pytest

from fleetqueue.demo.expectations import PAGES
from tests.invariants.standing_by import INVARIANTS

from .smaller_pages.telling import IDS
from .smaller_pages.worlds import WORLDS
from .worlds import Tellings

pytestmark = pytest.mark.timeout(300)

SHOWN = [
    pytest.param(world, one, id=f"{world.name}-{one}", marks=pytest.mark.checklist(one))
    for world in WORLDS
    for one in sorted(PAGES)
]


@pytest.fixture(scope="module")
def tellings(tmp_path_factory):
    return Tellings(tmp_path_factory.mktemp)


@pytest.mark.parametrize(("world", "expectation"), SHOWN)
def test_the_pages_show(tellings, world, expectation):
    tellings.of(world).check(expectation)


@pytest.mark.parametrize("invariant", INVARIANTS)
@pytest.mark.parametrize("world", [pytest.param(world, id=world.name) for world in WORLDS])
def test_while_the_pages_are_told(tellings, world, invariant):
    assert tellings.of(world).broken[invariant] == []


def test_every_id_of_the_pages_is_told():
    assert sorted(IDS) == sorted(PAGES)

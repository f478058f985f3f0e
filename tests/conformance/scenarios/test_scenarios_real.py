"""The record beside the scenarios is what the real parts make of them today.

That takes about an hour and can only change with the scenarios or with the versions of the parts, for which the
record has a seal: so these have a lane of their own, `make records`.
"""

import asyncio

import pytest

from fleetqueue.real import layout

from .world import once
from .worlds import WORLDS

pytestmark = pytest.mark.records


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    if layout.find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    return once(lambda world: asyncio.run(world.run_on_real(tmp_path_factory.mktemp("hub"))))


@pytest.mark.parametrize(
    ("world", "name"),
    [
        pytest.param(
            world,
            described["name"],
            id=f"{world.name}: {described['name']}",
            marks=pytest.mark.timeout(world.time_limit),
        )
        for world in WORLDS
        for described in world.described
    ],
)
def test_the_record_is_current(real, world, name):
    assert world.recorded()[name] == real(world)[name]

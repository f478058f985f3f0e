"""The check of nodes and cohorts has teeth: what is given away twice is noticed."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.embedded.kueue.scheduling.cohorts import Queue
from fleetqueue.embedded.kueue.topology.flavor_topology import FlavorTopology
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance
from tests.invariants import Broken

from .fleet_template import template
from .happenings import create_placed_job
from .seeds import unlogged
from .world import World

pytestmark = pytest.mark.timeout(300)
JOBS = 12
"""More than the nodes of all workers hold."""


def nodes_are_never_full(patch):
    patch.setattr(FlavorTopology, "use", lambda self, usage, sign=1: None)


def quota_is_never_used_up(patch):
    patch.setattr(Queue, "add_all", lambda self, usage, sign=1: None)


async def lived():
    """Let more jobs come than there is room for, and check all the time."""
    world = World(0)
    async with world.living(template()):
        await advance(20)
        for _ in range(JOBS):
            world.note(await create_placed_job(world))
        for _ in range(20):
            await advance(2)
            await world.check()


@pytest.mark.parametrize(
    ("mistake", "broken"),
    [
        pytest.param(nodes_are_never_full, "has 2 cpus, of which", id="a node"),
        pytest.param(quota_is_never_used_up, "cohort fair has", id="a cohort"),
    ],
)
def test_what_is_given_away_twice_is_noticed(monkeypatch, mistake, broken):
    made = template()
    mistake(monkeypatch)

    with (
        unlogged(),
        clock.use(VirtualClock(0, made.moment)),
        asyncio.Runner(loop_factory=VirtualTimeLoop) as runner,
        pytest.raises(Broken, match=broken),
    ):
        runner.run(lived())

"""What may happen does happen: a fault that finds nobody to strike would prove nothing, seed after seed."""

import asyncio

from fleetqueue import clock
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance

from .fleet_template import template
from .happenings import WEIGHTS, create_job, create_job_of, heal
from .mixed_kinds import ELASTIC_JOB, KINDS, first_kinds
from .seeds import unlogged
from .world import World


async def told() -> dict[str, str]:
    """Let everything happen once, each to a fleet that is well and has new jobs."""
    world, said = World(0), {}
    async with world.living(template()):
        await advance(20)
        for happening in WEIGHTS:
            world.note(await create_job(world))
            world.note(await create_job_of(world, ELASTIC_JOB))
            await advance(2)
            said[happening.__name__] = await happening(world)
            world.note(said[happening.__name__])
            await heal(world)
    return said


def test_every_happening_finds_somebody_to_happen_to():
    with (
        unlogged(),
        clock.use(VirtualClock(0, template().moment)),
        asyncio.Runner(loop_factory=VirtualTimeLoop) as runner,
    ):
        said = runner.run(told())

    assert [name for name, what in said.items() if not what] == []


def test_a_dozen_seeds_begin_with_jobs_of_all_kinds():
    assert {kind for seed in range(12) for kind in first_kinds(seed)} == set(KINDS)

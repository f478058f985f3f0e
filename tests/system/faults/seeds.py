"""Run one seed: things happen by chance for some minutes, then all must be well."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fleetqueue import clock
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance
from tests.invariants.reasons import check_answers
from tests.job_kinds import JobKind

from . import ends
from .fleet_template import template
from .happenings import create_job, create_job_of, create_placed_job, strike
from .mixed_kinds import first_kinds
from .world import World

HAPPENINGS = 24
PLACED = 4
"""So many jobs that are placed by topology each seed begins with: more than fit at once."""
ASKED = 3
"""After one happening of so many `explain` is asked about all that waits; at the end nothing does."""
QUIET_ONES = 4
"""One seed of so many also shows that nobody writes when all is over: that takes as long as all the rest."""


def run(seed: int) -> World:
    """Live through what a seed brings; raises AssertionError, with the whole story, where an invariant breaks."""
    made = template()
    with (
        unlogged(),
        clock.use(VirtualClock(seed, made.moment)),
        asyncio.Runner(loop_factory=VirtualTimeLoop) as runner,
    ):
        return runner.run(play(seed))


async def play(seed: int) -> World:
    world = World(seed)
    async with world.living(template()):
        try:
            await live(world, first_kinds(seed))
            await end(world, is_quiet_one=seed % QUIET_ONES == 0)
        except AssertionError as error:
            raise AssertionError(f"{error}\n\nseed {seed}:\n" + "\n".join(world.diary)) from None
    return world


async def live(world: World, kinds: Sequence[JobKind]) -> None:
    await advance(world.chance.choice([2, 20]))
    world.note(await create_job(world))
    for kind in kinds:
        world.note(await create_job_of(world, kind))
    for _ in range(PLACED):
        world.note(await create_placed_job(world))
    for number in range(HAPPENINGS):
        await asyncio.sleep(world.chance.choice([0.05, 1, 4, 15, 30]))
        await strike(world)
        await world.check()
        if number % ASKED == 0:
            await check_answers(world.hub)


async def end(world: World, *, is_quiet_one: bool) -> None:
    await ends.make_well(world)
    await ends.converge(world)
    ends.check_ends(world)
    if is_quiet_one:
        await ends.check_quiet(world)
    await world.check()


@contextmanager
def unlogged() -> Iterator[None]:
    """Faults are told by the thousand, and nobody reads it: what counts is in the diary."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)

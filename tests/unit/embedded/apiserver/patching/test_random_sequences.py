"""Random sequences of applies, updates and patches end, step by step, as they did on the real server."""

import pytest

from tests.unit.embedded.apiserver.patching.random_sequences import define, embedded_door, plays, recorded, run

PLAYS = [pytest.param(play, id=play.name) for play in plays()]
REAL = recorded()


@pytest.fixture
async def door():
    async with embedded_door() as door:
        yield door


@pytest.mark.parametrize("play", PLAYS)
async def test_every_step_ends_as_on_the_real_server(door, play):
    await define(door, [play])

    answers = await run(door, play)

    assert answers == REAL[play.name]

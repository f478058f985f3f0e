"""Random applies, updates and patches on a real API server and on ours: the same objects, owners and refusals."""

import pytest

from tests.unit.embedded.apiserver.patching.random_sequences import define, embedded_door, plays, recorded, run
from tests.unit.embedded.apiserver.patching.record_sequences import answers_of_a_real_server

pytestmark = [pytest.mark.records, pytest.mark.timeout(300)]

UNSEEN = 100_000
"""Where sequences begin that are not among the recorded ones."""


async def test_the_recorded_sequences_are_answered_so_by_a_real_server(layout, tmp_path):
    answers = await answers_of_a_real_server(layout, tmp_path, plays())

    assert answers == recorded()


async def test_other_sequences_end_alike_on_both(layout, tmp_path):
    wanted = plays(60, 40, UNSEEN)

    async with embedded_door() as door:
        await define(door, wanted)
        ours = {play.name: await run(door, play) for play in wanted}

    real = await answers_of_a_real_server(layout, tmp_path, wanted)
    assert list(different_steps(ours, real)) == []


def different_steps(ours, real):
    """Name the first step of each sequence that ends otherwise, and how."""
    for name, answers in ours.items():
        for number, (mine, theirs) in enumerate(zip(answers, real[name], strict=True)):
            if mine != theirs:
                yield name, number, mine, theirs
                break

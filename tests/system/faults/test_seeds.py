"""Whatever happens to the whole system: no job runs twice at a time, nothing foreign is touched, and all ends well.

One seed alone, with the story of what happened in it:
`FLEETQUEUE_FIRST_SEED=17 FLEETQUEUE_SEEDS=1 pytest tests/system/faults`.
"""

import pytest

from .seeds import run

pytestmark = pytest.mark.timeout(300)


def test_all_ends_well(seed):
    run(seed)


def test_a_seed_is_the_same_story_every_time():
    first, second = run(3), run(3)

    assert first.diary == second.diary
    assert first.witness.story == second.witness.story

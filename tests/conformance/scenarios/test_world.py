"""A record says of what it was made, and whatever is changed about that breaks its seal."""

import pytest

from .world import VERSIONS, World

DESCRIBED = [{"name": "one", "creates": "a pod", "differs": {"why": "ours is faster", "at": ["hub"]}}]
ENDS = {"one": {"status": {"succeeded": 1, "message": "all pods ended"}}}


def world(folder, described=DESCRIBED):
    async def run(*given):
        raise AssertionError("nothing is run here")

    return World(folder, described, run_on_ours=run, run_on_real=run)


@pytest.fixture
def record(tmp_path):
    world(tmp_path).record(ENDS)
    return tmp_path / "recorded.json"


def test_a_record_is_sealed_and_read_as_it_was_made(record):
    assert world(record.parent).is_sealed()
    assert world(record.parent).recorded() == ENDS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param('"succeeded":1', '"succeeded":2', id="a result"),
        pytest.param("all pods ended", "some pods ended", id="a word of a result"),
        pytest.param('"one":', '"two":', id="the name of a scenario"),
        pytest.param(VERSIONS["Kueue"], "0.19.1", id="a version"),
    ],
)
def test_what_is_changed_by_hand_breaks_the_seal(record, before, after):
    written = record.read_text()
    assert before in written

    record.write_text(written.replace(before, after))

    assert not world(record.parent).is_sealed()


def test_another_scenario_breaks_the_seal(record):
    assert not world(record.parent, [{**DESCRIBED[0], "creates": "two pods"}]).is_sealed()


def test_what_is_said_of_a_known_difference_does_not(record):
    assert world(record.parent, [{"name": "one", "creates": "a pod"}]).is_sealed()


def test_a_record_says_its_versions_in_plain_text(record):
    line = record.read_text().splitlines()[1]

    assert all(f'"{part}":"{version}"' in line for part, version in VERSIONS.items())

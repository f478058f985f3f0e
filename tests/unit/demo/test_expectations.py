"""The checklist: every id is shown by a story, or there is a reason why not."""

import pytest

from fleetqueue.demo.expectations import CHECKLIST, NOT_SHOWN, ONLY_WITH_AGENTS, ExpectationOutcome, Record
from fleetqueue.demo.story_order import Which, expected

ALL_IDS = {
    *(f"ENV-{number}" for number in range(1, 10)),
    *(f"S1-{number}" for number in range(1, 7)),
    *(f"S2-{number}" for number in range(1, 14)),
    *(f"S3-{number}" for number in range(1, 9)),
    *(f"C-{number}" for number in range(1, 9)),
    *("D-1", "D-2", "K-1", "DOC-1"),
    *("A-1", "A-2", "A-3", "A-4", "B-1", "B-2", "M-1", "P-1"),
}


def test_every_id_of_the_seeds_has_its_place():
    assert (set(CHECKLIST) | set(NOT_SHOWN)) - {"ONCE"} == ALL_IDS
    assert not set(CHECKLIST) & set(NOT_SHOWN)


def test_all_stories_together_show_the_whole_checklist():
    assert sorted(expected(Which.ALL)) == sorted(CHECKLIST)


@pytest.mark.parametrize("which", Which)
def test_no_id_is_shown_twice_and_all_are_known(which):
    ids = expected(which)

    assert len(ids) == len(set(ids))
    assert set(ids) <= set(CHECKLIST)


def test_without_agents_what_only_they_tell_is_not_expected():
    assert set(expected(Which.ALL)) - set(expected(Which.ALL, has_agents=False)) == set(ONLY_WITH_AGENTS)


def test_an_id_in_several_parts_holds_if_every_part_did():
    record = Record()
    record.add(ExpectationOutcome("S3-5", True, 0.0, part="it is there"))
    record.add(ExpectationOutcome("S3-5", False, 1.0, "gone", part="it ended"))
    record.add(ExpectationOutcome("S3-4", True, 2.0))

    assert not record.of("S3-5").held
    assert record.of("S3-4").held
    assert record.of("S3-6") is None
    assert not record.all_held


def test_nothing_looked_at_is_no_success():
    assert not Record().all_held

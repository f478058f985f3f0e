"""The page about the stories says what the code says: every id, its sentence, and the worlds that show it."""

import re
from pathlib import Path

import pytest

from fleetqueue.assembly.stories.expectations import CHECKLIST, NOT_SHOWN

from .worlds import WORLDS

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| ([A-Z]+\d?-?\d*) \| (.+?) \| (.+?) \|(?: ([✓-]) \| ([✓-]) \|)?", re.MULTILINE)


def rows(language):
    return ROW.findall((DOCS / language / "reference" / "stories.md").read_text())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_id_stands_there_once(language):
    assert sorted(row[0] for row in rows(language)) == sorted([*CHECKLIST, *NOT_SHOWN])


def test_the_sentences_are_those_of_the_stories():
    assert {one: sentence for one, sentence, _, mark, _ in rows("en") if mark} == CHECKLIST


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_worlds_are_those_of_the_tests(language, world):
    marked = {row[0] for row in rows(language) if row[4 if world.name == "kubernetes" else 3] == "✓"}

    assert marked == set(world.expected)

"""The page about the stories says what the code says: every id, its sentence, and the worlds that show it."""

from pathlib import Path

import pytest

from fleetqueue.demo.expectations import CHECKLIST, PAGES, SHOWN_BY_TESTS
from fleetqueue.demo.expectations import NOT_SHOWN as LEFT_OUT

from .markers import marked
from .smaller_pages.telling import IDS
from .worlds import WORLDS

PAGE = Path(__file__).parents[3] / "docs" / "{language}" / "reference" / "stories.md"
SHOWN, NOT_SHOWN = "✓", "-"
HERE = "system"
"""The folder with the tests that are made of ids, and so carry all of them."""
both_languages = pytest.mark.parametrize("language", ["en", "zh"])


def tables(language):
    """Return the rows of each table of the page, by their first cell."""
    sections = Path(str(PAGE).format(language=language)).read_text().split("\n## ")
    return [{cells[0]: cells[1:] for cells in rows(section)} for section in sections if "| ✓ |" in section]


def rows(section):
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def mark(is_shown):
    return SHOWN if is_shown else NOT_SHOWN


@both_languages
def test_every_id_stands_in_its_table(language):
    stories, pages = tables(language)

    assert sorted(stories) == sorted(CHECKLIST)
    assert sorted(pages) == sorted(PAGES)


def test_the_sentences_are_those_of_the_stories():
    stories, pages = tables("en")

    assert {one: cells[0] for one, cells in stories.items()} == CHECKLIST
    assert {one: cells[0] for one, cells in pages.items()} == PAGES


@both_languages
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_worlds_are_those_of_the_tests(language, world):
    stories, _ = tables(language)
    column = 3 if world.name == "kubernetes" else 2

    assert {one for one, cells in stories.items() if cells[column] == SHOWN} == set(world.expected)


@both_languages
@pytest.mark.parametrize("one", sorted(PAGES))
def test_who_shows_a_smaller_page_is_read_from_the_tests(language, one):
    _, pages = tables(language)
    tests = [test for test in marked() if test.id == one]
    folders = sorted({test.folder for test in tests} | ({HERE} if one in IDS else set()))

    wanted = [mark(one in IDS), mark(any(test.is_real for test in tests)), ", ".join(folders)]
    assert pages[one][1:4] == wanted


def test_what_is_left_to_tests_is_marked_in_one():
    left_to_tests = {one for one, why in LEFT_OUT.items() if why.startswith(SHOWN_BY_TESTS)}

    assert left_to_tests <= {test.id for test in marked()}

"""The page about kinds of jobs says what the tests ask: each kind, each question, and where it is asked."""

from pathlib import Path

import pytest

from fleetqueue.controllers.credentials.worker_rules import NEVER_DISPATCHED
from fleetqueue.embedded.kueue.frameworks import NOT_SENT

from .page import NOT_ASKED, rows
from .questions import QUESTIONS

PAGE = Path(__file__).parents[3] / "docs" / "{language}" / "reference" / "job-kinds.md"
both_languages = pytest.mark.parametrize("language", ["en", "zh"])


def tables(language):
    """Return the rows of each table of the page, by their first cell."""
    sections = Path(str(PAGE).format(language=language)).read_text().split("\n## ")
    return [{cells[0]: cells[1:] for cells in cells_of(section)} for section in sections if "\n|" in section]


def cells_of(section):
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


@both_languages
def test_the_marks_are_those_of_the_tests(language):
    _, kinds = tables(language)

    assert {name: cells[:-1] for name, cells in kinds.items()} == rows()


@both_languages
def test_a_question_that_is_not_asked_has_a_reason(language):
    _, kinds = tables(language)

    assert [name for name, cells in kinds.items() if NOT_ASKED in cells[:-1] and not cells[-1]] == []


def test_the_questions_are_those_of_the_tests():
    questions, _ = tables("en")

    assert {name: cells[0] for name, cells in questions.items()} == QUESTIONS


@both_languages
def test_all_questions_stand_there(language):
    questions, _ = tables(language)

    assert len(questions) == len(QUESTIONS)


def test_the_product_and_the_embedded_kueue_agree_on_what_is_never_sent():
    assert NEVER_DISPATCHED == NOT_SENT

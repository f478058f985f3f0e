"""Every kind of job is placed, nominated, sent, told of, ended, stopped, drained and deleted, on a whole fleet."""

import pytest

from .questions import KINDS, REFUSED, STAYS, expected, row_name
from .trial import NO_COPY, ON_THE_HUB, REJECTION, SUBMISSION
from .worlds import WORLDS

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("world", WORLDS)
def test_every_kind_answers_every_question_as_it_should(world):
    answers = WORLDS[world]().answers

    found = {row_name(kind): answers[kind] for kind in KINDS}
    assert found == {row_name(kind): dict.fromkeys(all_asked(kind), "") for kind in KINDS}


def all_asked(kind):
    more = [NO_COPY] if kind in REFUSED else [ON_THE_HUB, REJECTION] if kind in STAYS else []
    return {SUBMISSION, *expected(kind), *more}

"""Look again and again: what is not as it was is told, and nothing else."""

import json

from fleetqueue import clock
from fleetqueue.admin.causes import Cause
from fleetqueue.admin.explanation_text import as_text
from fleetqueue.admin.explanations import Explanation
from fleetqueue.admin.looking_again import LOOK_SECONDS, looked_at
from fleetqueue.testing import virtual_time


async def seen(answers, *, again, count):
    """Return what is told first, and after how many seconds."""
    left, start = iter(answers), clock.monotonic()

    async def look():
        return next(left)

    told = []
    async for facts in looked_at(look, again=again):
        told.append((facts, clock.monotonic() - start))
        if len(told) == count:
            break
    return told


def test_only_what_changes_is_told_again():
    told = virtual_time.run(seen(["a", "a", "b", "b", "a"], again=True, count=3))

    assert told == [("a", 0), ("b", 2 * LOOK_SECONDS), ("a", 4 * LOOK_SECONDS)]


def test_who_does_not_watch_is_told_once():
    assert virtual_time.run(seen(["a", "b"], again=False, count=2)) == [("a", 0)]


def test_an_explanation_that_is_only_later_is_no_other_one():
    earlier, later = (Explanation("Job/a", Cause("Open", "open"), now=moment) for moment in (1, 2))

    assert earlier == later


def test_programs_that_watch_get_each_explanation_as_a_line():
    both = [Explanation(name, Cause("Open", "open")) for name in ("Job/a", "Job/b")]

    lines = as_text(both, "json", endless=True).splitlines()

    assert [json.loads(line)["about"] for line in lines] == ["Job/a", "Job/b"]

"""A scenario that is known to differ may do so in the places that it names, and in no other."""

import pytest

from .comparing import differences

REAL = {"hub": {"jobs": {"a": {"suspend": False, "status": {"active": 1}}}}, "events": ["x"]}


def ends(*, suspend=False, active=1, events=("x",)):
    return {"hub": {"jobs": {"a": {"suspend": suspend, "status": {"active": active}}}}, "events": list(events)}


@pytest.mark.parametrize(
    ("at", "ours", "found"),
    [
        pytest.param([], ends(), [], id="the same"),
        pytest.param([], ends(active=2), ["hub.jobs.a.status.active: ours 2, real 1"], id="another number"),
        pytest.param(["hub.jobs.a.status"], ends(active=2), [], id="below a place that is named"),
        pytest.param(
            ["hub.jobs.a.status"],
            ends(active=2, suspend=True),
            ["hub.jobs.a.suspend: ours True, real False"],
            id="beside a place that is named",
        ),
        pytest.param(["events"], ends(events=("x", "y")), [], id="more events, which are named"),
        pytest.param(["events"], ends(), ["events: differs no more"], id="a place that is named without need"),
    ],
)
def test_what_is_told(at, ours, found):
    assert differences({"differs": {"why": "it must", "at": at}}, ours, REAL) == found


def test_a_scenario_that_names_nothing_may_not_differ():
    assert differences({"name": "plain"}, ends(suspend=True), REAL) == ["hub.jobs.a.suspend: ours True, real False"]

"""Conditions keep the time of their last transition, and are not written twice."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from fleetqueue.api import conditions
from fleetqueue.api.conditions import Condition

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


def live(status="True", reason="Active", message="all is well", **more):
    return Condition(type="Active", status=status, reason=reason, message=message, last_transition_time=THEN, **more)


@pytest.mark.parametrize(
    ("wanted", "since"),
    [
        pytest.param(Condition.true("Active", "Active", "all is well"), THEN, id="nothing changed"),
        pytest.param(Condition.true("Active", "Other", "still well"), THEN, id="the status is the same"),
        pytest.param(Condition.false("Active", "Active", "all is well"), NOW, id="the status changed"),
        pytest.param(Condition.true("Draining", "Draining", "one left"), NOW, id="the condition is new"),
    ],
)
def test_the_transition_time_moves_only_with_the_status(wanted, since):
    (written,) = conditions.dated([wanted], [live()], now=NOW)

    assert written["lastTransitionTime"] == conditions.timestamp(since)


def test_a_live_condition_without_a_time_gets_one():
    undated = Condition(type="Active", status="True")

    (written,) = conditions.dated([Condition.true("Active", "A", "m")], [undated], now=NOW)

    assert written["lastTransitionTime"] == "2026-01-02T03:04:05Z"


def test_conditions_are_written_in_the_order_wanted_and_in_full():
    wanted = [Condition.false("B", "No", "not yet"), Condition(type="A", status="True", observed_generation=3)]

    written = conditions.dated(wanted, [], now=THEN)

    stamp = "2026-01-01T00:00:00Z"
    assert written == [
        {"type": "B", "status": "False", "reason": "No", "message": "not yet", "lastTransitionTime": stamp},
        {
            "type": "A",
            "status": "True",
            "reason": "",
            "message": "",
            "lastTransitionTime": stamp,
            "observedGeneration": 3,
        },
    ]


@pytest.mark.parametrize(
    ("wanted", "is_same"),
    [
        pytest.param([], True, id="nothing is wanted"),
        pytest.param([live()], True, id="equal"),
        pytest.param([Condition.true("Active", "Active", "all is well")], True, id="the date does not count"),
        pytest.param([live(status="False")], False, id="status"),
        pytest.param([live(reason="Other")], False, id="reason"),
        pytest.param([live(message="other")], False, id="message"),
        pytest.param([live(observed_generation=2)], False, id="generation"),
        pytest.param([live(), Condition.true("New", "R", "m")], False, id="one is missing"),
    ],
)
def test_same(wanted, is_same):
    assert conditions.same(wanted, [live(), Condition.true("Foreign", "R", "m")]) is is_same


def test_find_and_is_true():
    listed = [Condition.true("A", "R", "m"), Condition.false("B", "R", "m"), Condition(type="C")]

    assert conditions.find(listed, "B") is listed[1]
    assert conditions.find(listed, "D") is None
    assert [conditions.is_true(listed, kind) for kind in "ABCD"] == [True, False, False, False]


def test_a_timestamp_is_utc_in_whole_seconds():
    moment = datetime(2026, 1, 1, 2, 0, 0, 999999, tzinfo=timezone(timedelta(hours=2)))

    assert conditions.timestamp(moment) == "2026-01-01T00:00:00Z"

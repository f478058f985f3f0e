"""Which clusters a config lists: one row for every branch."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.controllers.placement_admission.draining import ConfigPlan, Holdings, decide, to_ask

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(minutes=5)

EMPTY = Holdings()
BUSY = Holdings(frozenset({"team-a/job"}), is_running=True)
SILENT = Holdings(unreachable="connection refused", is_running=True)


def plan(wanted, listed=(), *, marks=(), held=None, unusable=None, limit=20, by_score=False, is_decided=True):
    return decide(
        wanted,
        is_decided=is_decided,
        listed=listed,
        marks=dict.fromkeys(marks, EARLIER),
        held=held or {},
        unusable=unusable or {},
        limit=limit,
        by_score=by_score,
        now=NOW,
    )


@pytest.mark.parametrize(
    ("wanted", "listed", "marks", "held", "serving", "draining"),
    [
        pytest.param([], [], [], {}, [], [], id="nothing wanted, nothing listed"),
        pytest.param(["b", "a"], [], [], {}, ["a", "b"], [], id="the first choice, in name order"),
        pytest.param(["a"], ["a"], [], {}, ["a"], [], id="nothing changed"),
        pytest.param(["b"], ["a", "b"], [], {}, ["b"], ["a"], id="just dropped: marked, not asked"),
        pytest.param(["b"], ["a", "b"], [], {"a": EMPTY}, ["b"], ["a"], id="empty, but nobody saw the mark yet"),
        pytest.param(["b"], ["a", "b"], ["a"], {}, ["b"], ["a"], id="marked, but not asked"),
        pytest.param(["b"], ["a", "b"], ["a"], {"a": EMPTY}, ["b"], [], id="marked and empty: unlisted"),
        pytest.param(["b"], ["a", "b"], ["a"], {"a": BUSY}, ["b"], ["a"], id="marked and busy: stays"),
        pytest.param(["b"], ["a", "b"], ["a"], {"a": SILENT}, ["b"], ["a"], id="marked and unreachable: stays"),
        pytest.param(["a", "b"], ["a", "b"], ["a"], {"a": BUSY}, ["a", "b"], [], id="reselected while draining"),
        pytest.param(["a"], ["a"], ["a"], {"a": EMPTY}, ["a"], [], id="reselected while draining and empty"),
        pytest.param([], ["a"], [], {}, [], ["a"], id="nothing wanted any more: marked"),
        pytest.param([], ["a"], ["a"], {"a": BUSY}, [], ["a"], id="an empty choice does not unlist running work"),
        pytest.param([], ["a"], ["a"], {"a": EMPTY}, [], [], id="an empty choice, and nothing runs"),
        pytest.param(["c"], ["a", "b"], ["a"], {"a": EMPTY}, ["c"], ["b"], id="one leaves, one begins to drain"),
        pytest.param(["b"], ["b"], ["gone"], {}, ["b"], [], id="a mark without its cluster is forgotten"),
    ],
)
def test_who_is_listed(wanted, listed, marks, held, serving, draining):
    config_plan = plan(wanted, listed, marks=marks, held=held)

    assert (list(config_plan.serving), list(config_plan.draining)) == (serving, draining)
    assert set(config_plan.marks) == set(draining)
    assert config_plan.left_out == {}


@pytest.mark.parametrize(
    ("listed", "marks", "held", "serving", "draining"),
    [
        pytest.param([], [], {}, [], [], id="nothing yet"),
        pytest.param(["a", "b"], [], {}, ["a", "b"], [], id="nothing is dropped"),
        pytest.param(["a", "b"], ["a"], {"a": BUSY}, ["b"], ["a"], id="a drain goes on"),
        pytest.param(["a", "b"], ["a"], {"a": EMPTY}, ["b"], [], id="a drain ends"),
    ],
)
def test_before_the_placement_has_decided_what_serves_goes_on_serving(listed, marks, held, serving, draining):
    config_plan = plan([], listed, marks=marks, held=held, is_decided=False)

    assert (list(config_plan.serving), list(config_plan.draining)) == (serving, draining)


def test_a_drain_keeps_the_time_at_which_it_began():
    config_plan = plan([], ["a", "b"], marks=["a"], held={"a": BUSY})

    assert config_plan.marks == {"a": EARLIER, "b": NOW}


@pytest.mark.parametrize(
    ("wanted", "listed", "marks", "held", "limit", "members", "beyond"),
    [
        pytest.param(list("cab"), [], [], {}, 2, ["a", "c"], ["b"], id="the best that fit"),
        pytest.param(list("bcd"), ["a"], [], {}, 3, list("abc"), ["d"], id="a draining one takes a place"),
        pytest.param(list("bcd"), ["a"], ["a"], {"a": EMPTY}, 3, list("bcd"), [], id="a drained one gives it back"),
        pytest.param(["c", "d"], ["a", "b"], [], {}, 2, ["a", "b"], ["c", "d"], id="no place beside draining ones"),
        pytest.param(
            list("xab"), ["a", "b"], ["b"], {"b": BUSY}, 2, ["a", "b"], ["b", "x"], id="what must stay goes first"
        ),
        pytest.param(list("ba"), ["a"], [], {}, 1, ["a"], ["a", "b"], id="a better one waits until the other is empty"),
        pytest.param(list("ba"), ["a"], ["a"], {"a": EMPTY}, 1, ["b"], ["a"], id="and then takes its place"),
    ],
)
def test_no_more_than_the_limit(wanted, listed, marks, held, limit, members, beyond):
    config_plan = plan(wanted, listed, marks=marks, held=held, limit=limit)

    assert list(config_plan.listed) == members
    assert config_plan.left_out == dict.fromkeys(beyond, f"beyond the limit of {limit}")


def test_twenty_of_twenty_five_with_three_that_drain():
    wanted = [f"c{number:02}" for number in range(25)]
    draining = ["x1", "x2", "x3"]

    config_plan = plan(wanted, draining, marks=draining, held=dict.fromkeys(draining, BUSY))

    assert list(config_plan.serving) == wanted[:17]
    assert list(config_plan.draining) == draining
    assert set(config_plan.left_out) == set(wanted[17:])


@pytest.mark.parametrize(
    ("wanted", "listed", "serving", "left_out"),
    [
        pytest.param(["a", "b"], [], ["b"], {"a": "no secret"}, id="a newcomer that cannot be used is left out"),
        pytest.param(["a", "b"], ["a"], ["a", "b"], {}, id="one that is listed stays"),
        pytest.param(["a"], [], [], {"a": "no secret"}, id="nothing can be used"),
    ],
)
def test_what_cannot_be_used(wanted, listed, serving, left_out):
    config_plan = plan(wanted, listed, unusable={"a": "no secret"})

    assert list(config_plan.serving) == serving
    assert config_plan.left_out == left_out


def test_an_unusable_newcomer_does_not_take_the_place_of_a_usable_one():
    config_plan = plan(["a", "b"], unusable={"a": "no secret"}, limit=1)

    assert list(config_plan.serving) == ["b"]
    assert config_plan.left_out == {"a": "no secret"}


def test_by_score_the_best_come_first_and_draining_ones_last():
    config_plan = plan(["c", "b"], ["z", "a", "b"], by_score=True)

    assert list(config_plan.listed) == ["c", "b", "a", "z"]


@pytest.mark.parametrize(
    ("wanted", "listed", "marks", "unusable", "limit", "asked"),
    [
        pytest.param(["a"], ["a", "b"], [], [], 20, [], id="without a mark nobody is asked"),
        pytest.param(["a"], ["a", "b"], ["b"], [], 20, ["b"], id="dropped and marked"),
        pytest.param(["a", "b"], ["a", "b"], ["b"], [], 20, [], id="reselected"),
        pytest.param(["a"], ["a"], ["b"], [], 20, [], id="no longer listed"),
        pytest.param(["a", "b"], ["a", "b"], ["b"], [], 1, ["b"], id="wanted, but beyond the limit"),
        pytest.param(["a", "b"], ["a", "b"], ["b"], ["b"], 20, [], id="unusable, but listed and wanted"),
        pytest.param([], ["a", "b"], ["a", "b"], [], 20, ["a", "b"], id="nothing wanted"),
    ],
)
def test_who_is_asked(wanted, listed, marks, unusable, limit, asked):
    assert to_ask(wanted, listed=listed, marks=marks, unusable=unusable, limit=limit) == asked


@pytest.mark.parametrize(
    ("held", "text", "is_empty"),
    [
        pytest.param(EMPTY, "0 workloads", True, id="nothing"),
        pytest.param(BUSY, "1 workload", False, id="one"),
        pytest.param(Holdings(frozenset({"a", "b"})), "2 workloads", False, id="two"),
        pytest.param(SILENT, "0 workloads, cannot be asked: connection refused", False, id="no answer"),
    ],
)
def test_what_is_held_can_be_read(held, text, is_empty):
    assert str(held) == text
    assert held.is_empty == is_empty


names = st.lists(st.sampled_from("abcdefgh"), unique=True)
answers = st.sampled_from([EMPTY, BUSY, SILENT])


@st.composite
def situations(draw):
    limit = draw(st.integers(1, 8))
    listed = draw(names)[:limit]
    return {
        "wanted": draw(names),
        "listed": listed,
        "marks": draw(st.lists(st.sampled_from(listed), unique=True)) if listed else [],
        "held": {member: draw(answers) for member in listed if draw(st.booleans())},
        "unusable": dict.fromkeys(draw(names), "no secret"),
        "limit": limit,
        "by_score": draw(st.booleans()),
        "is_decided": draw(st.booleans()),
    }


@given(situations())
def test_whatever_the_situation_nothing_that_may_hold_work_is_unlisted(situation):
    config_plan = plan(**situation)

    for member in set(situation["listed"]) - set(config_plan.listed):
        assert member in situation["marks"]
        assert situation["held"][member].is_empty
    assert len(config_plan.listed) == len(set(config_plan.listed)) <= situation["limit"]
    assert set(config_plan.marks) <= set(config_plan.listed)
    assert not set(config_plan.serving) & set(config_plan.draining)


@given(situations())
def test_whatever_the_situation_a_second_look_changes_nothing_more(situation):
    first = plan(**situation)
    held = {member: answer for member, answer in situation["held"].items() if not answer.is_empty}

    again = {**situation, "listed": list(first.listed), "marks": list(first.draining), "held": held}
    second = plan(**again)

    assert isinstance(second, ConfigPlan)
    assert second.draining == first.draining
    assert set(first.serving) <= set(second.listed)

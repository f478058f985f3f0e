"""Quota in trees of queues and cohorts: what is left, what may be had, what is lent and borrowed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.kueue.scheduling.cohorts import Forest
from fleetqueue.embedded.kueue.scheduling.quota import Quota

from .objects import CPU


def forest(*queues, cohorts=()):
    """Queues are (name, cohort, quota); cohorts are (name, parent, quota)."""
    grown = Forest()
    for name, parent, quota in cohorts:
        grown.set_cohort(name, parent, {CPU: quota} if quota else {})
    for name, cohort, quota in queues:
        grown.set_queue(name, cohort, {CPU: quota})
    return grown


def both(grown, name):
    queue = grown.queues[name]
    return queue.available(CPU), queue.potentially_available(CPU)


@pytest.mark.parametrize(
    ("grown", "used", "left"),
    [
        pytest.param(forest(("q", "", Quota(4))), 1, (3, 4), id="a queue alone has its quota"),
        pytest.param(forest(("q", "", Quota(4))), 5, (-1, 4), id="it may have used too much"),
        pytest.param(
            forest(("q", "c", Quota(4)), ("r", "c", Quota(2))), 1, (5, 6), id="with a cohort, what others lend"
        ),
        pytest.param(
            forest(("q", "c", Quota(4, borrowing_limit=1)), ("r", "c", Quota(2))), 1, (4, 5), id="up to a limit"
        ),
        pytest.param(
            forest(("q", "c", Quota(4)), ("r", "c", Quota(2, lending_limit=1))), 1, (4, 5), id="others keep some"
        ),
        pytest.param(
            forest(("q", "c", Quota(4, lending_limit=1)), ("r", "c", Quota(2))), 1, (5, 6), id="what it keeps it has"
        ),
        pytest.param(
            forest(("q", "c", Quota(1)), cohorts=[("c", "", Quota(3))]), 1, (3, 4), id="a cohort has quota of its own"
        ),
        pytest.param(
            forest(
                ("q", "left", Quota(1)),
                ("r", "right", Quota(2)),
                cohorts=[("left", "top", None), ("right", "top", None)],
            ),
            1,
            (2, 3),
            id="cohorts borrow from each other",
        ),
        pytest.param(
            forest(
                ("q", "left", Quota(1)),
                ("r", "right", Quota(2)),
                cohorts=[("left", "top", Quota(0, borrowing_limit=1)), ("right", "top", None)],
            ),
            1,
            (1, 2),
            id="a cohort may have a limit, too",
        ),
    ],
)
def test_what_is_left_and_what_could_be_had(grown, used, left):
    grown.queues["q"].add(CPU, used)

    assert both(grown, "q") == left


def test_what_one_uses_another_cannot():
    grown = forest(("q", "c", Quota(4)), ("r", "c", Quota(2)))

    grown.queues["q"].add(CPU, 5)

    assert both(grown, "r") == (1, 6)


def test_what_is_used_of_ones_own_does_not_weigh_on_the_cohort():
    grown = forest(("q", "c", Quota(4, lending_limit=1)), ("r", "c", Quota(2)))

    grown.queues["q"].add(CPU, 3)

    assert grown.cohorts["c"].usage.get(CPU, 0) == 0
    assert both(grown, "r") == (3, 3)


@given(
    st.lists(st.tuples(st.sampled_from("qrs"), st.integers(1, 9)), max_size=12),
    st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=3, max_size=3),
)
def test_usage_that_comes_and_goes_leaves_nothing(changes, lending):
    places = ("left", "left", "right")
    queues = [(name, place, Quota(5, None, limit)) for name, place, limit in zip("qrs", places, lending, strict=True)]
    grown = forest(*queues, cohorts=[("left", "top", Quota(2, None, 1)), ("right", "top", None)])
    before = {name: both(grown, name) for name in "qrs"}

    for name, value in changes:
        grown.queues[name].add(CPU, value)
    for name, value in reversed(changes):
        grown.queues[name].add(CPU, -value)

    assert {name: both(grown, name) for name in "qrs"} == before
    assert not any(node.usage.get(CPU) for node in grown.cohorts.values())


@given(st.lists(st.tuples(st.sampled_from("qr"), st.integers(1, 9)), max_size=8))
def test_adding_up_anew_gives_what_was_kept(changes):
    grown = forest(("q", "c", Quota(5, None, 2)), ("r", "c", Quota(3)))
    for name, value in changes:
        grown.queues[name].add(CPU, value)
    kept = {name: both(grown, name) for name in "qr"}

    grown.set_cohort("c", "top", {})

    assert {name: both(grown, name) for name in "qr"} == kept


def test_a_queue_that_moves_takes_its_quota_and_usage_along():
    grown = forest(("q", "c", Quota(4)), ("r", "c", Quota(2)), ("s", "d", Quota(1)))
    grown.queues["q"].add(CPU, 1)

    grown.set_queue("q", "d", {CPU: Quota(4)})

    assert both(grown, "r") == (2, 2)
    assert both(grown, "s") == (4, 5)


def test_a_queue_that_goes_takes_its_quota_along():
    grown = forest(("q", "c", Quota(4)), ("r", "c", Quota(2)))

    grown.remove_queue("q")

    assert both(grown, "r") == (2, 2)


def test_a_cohort_that_nobody_names_is_forgotten():
    grown = forest(("q", "c", Quota(4)))

    grown.set_queue("q", "", {CPU: Quota(4)})

    assert grown.cohorts == {}


def test_a_cohort_without_an_object_stays_while_it_is_named():
    grown = forest(("q", "c", Quota(4)), cohorts=[("c", "top", Quota(3))])

    grown.remove_cohort("c")

    assert both(grown, "q") == (4, 4)
    assert sorted(grown.cohorts) == ["c"]


def test_queues_of_cohorts_that_run_in_circles_have_no_tree():
    grown = forest(("q", "left", Quota(4)), cohorts=[("left", "right", None), ("right", "left", None)])

    assert grown.is_in_cycle("q")
    assert grown.tree("q") == ""
    assert grown.queues_of("/left") == []
    assert grown.a_queue_below("right") == "q"


def test_a_circle_that_is_broken_is_added_up():
    grown = forest(
        ("q", "left", Quota(4)), ("r", "right", Quota(1)), cohorts=[("left", "right", None), ("right", "left", None)]
    )

    grown.set_cohort("right", "", {})

    assert both(grown, "q") == (5, 5)
    assert grown.tree("q") == "/right"
    assert grown.queues_of("/right") == ["r", "q"]


def test_a_path_names_everybody_from_the_root():
    grown = forest(("q", "left", Quota(1)), cohorts=[("left", "top", None)])

    assert grown.queues["q"].path == "/top/left/q"


def test_height_counts_the_levels_below():
    grown = forest(("q", "left", Quota(1)), cohorts=[("left", "top", None), ("empty", "top", None)])

    assert {name: node.height for name, node in grown.cohorts.items()} == {"left": 1, "top": 2, "empty": 0}


def test_a_queue_alone_is_its_own_tree():
    grown = forest(("q", "", Quota(1)), ("r", "", Quota(1)))

    assert grown.queues_of(grown.tree("q")) == ["q"]
    assert grown.queues_of(grown.tree("lost")) == []

"""Clusters stay in order while scores change, and moments come in turn."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.ocm.placement.alarms import Alarms
from fleetqueue.embedded.ocm.placement.order import Order

from .objects import NOW

UPDATES = st.lists(
    st.tuples(
        st.sets(st.sampled_from("abcdefghijkl"), max_size=2),
        st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(-3, 3), max_size=3),
    ),
    max_size=20,
)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


@given(st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(-3, 3)), UPDATES)
def test_the_order_is_that_of_sorting_anew(first, updates):
    order, totals = Order(), dict(first)
    order.update(set(), first)
    for gone, changed in updates:
        gone = gone - changed.keys()
        order.update(gone, changed)
        totals = {name: total for name, total in {**totals, **changed}.items() if name not in gone}

        assert order.first(None) == sorted(totals, key=lambda name: (-totals[name], name))
    assert order.totals() == totals


def test_only_the_best_are_asked_for():
    order = Order()
    order.update(set(), {"a": 1, "b": 3, "c": 3})

    assert order.first(2) == ["b", "c"]
    assert order.first(0) == []
    assert order.total("a") == 1
    assert "a" in order
    assert len(order) == 3


def test_an_alarm_rings_once_and_only_the_last_that_was_set():
    alarms = Alarms()
    alarms.set("a", later(10))
    alarms.set("a", later(20))
    alarms.set("b", later(30))
    alarms.set("c", later(5))
    alarms.set("c", None)

    assert alarms.next() == later(20)
    assert alarms.due(later(19)) == []
    assert alarms.due(later(25)) == ["a"]
    assert alarms.due(later(25)) == []
    assert alarms.next() == later(30)
    alarms.set("b", None)
    assert alarms.next() is None

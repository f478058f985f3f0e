"""The patch that brings an object to what is wanted, and nothing more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.meta import changes, replacement
from fleetqueue.embedded.apiserver.patching.merge_patch import apply_merge_patch

names = st.sampled_from(["a", "b", "c"])
leaves = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.text("xy", max_size=2) | st.lists(st.integers(0, 2), max_size=2)
)
objects = st.recursive(
    st.dictionaries(names, leaves, max_size=3),
    lambda inner: st.dictionaries(names, inner | leaves, max_size=3),
    max_leaves=8,
)


def without_null_fields(value):
    if not isinstance(value, dict):
        return value
    return {k: without_null_fields(v) for k, v in value.items() if v is not None}


@pytest.mark.parametrize(
    ("live", "wanted", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="nothing differs"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {}, id="fields of others are left alone"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="a changed value"),
        pytest.param({}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="a missing part"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}, id="only what differs"),
        pytest.param({"a": 1}, {"a": None}, {"a": None}, id="must be absent"),
        pytest.param({}, {"a": None}, {}, id="is absent already"),
        pytest.param({}, {"a": {"b": None}}, {}, id="absent with all around it"),
        pytest.param({"a": None}, {"a": {"b": None}}, {}, id="null is as good as absent"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, {"a": [2, 1]}, id="lists are compared whole"),
        pytest.param({"a": "text"}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="a value becomes a part"),
        pytest.param({"a": {"b": 1}}, {"a": 5}, {"a": 5}, id="a part becomes a value"),
        pytest.param({}, {"a": {"b": {"c": None}}}, {}, id="nothing is made only to be empty"),
    ],
)
def test_changes(live, wanted, patch):
    assert changes(live, wanted) == patch


@given(live=objects, wanted=objects)
def test_once_applied_nothing_is_left_to_change(live, wanted):
    stored = without_null_fields(live)

    patched = apply_merge_patch(stored, changes(stored, wanted))

    assert changes(patched, wanted) == {}


@given(live=objects, wanted=objects)
def test_what_is_not_wanted_stays_as_it_was(live, wanted):
    stored = without_null_fields(live)

    patched = apply_merge_patch(stored, changes(stored, wanted))

    assert {k: v for k, v in patched.items() if k not in wanted} == {k: v for k, v in stored.items() if k not in wanted}


@given(live=objects)
def test_an_object_needs_no_change_to_be_itself(live):
    stored = without_null_fields(live)

    assert changes(stored, stored) == {}


@given(wanted=objects)
def test_every_wanted_value_is_there_afterwards(wanted):
    patched = apply_merge_patch({}, changes({}, wanted))

    for field, value in wanted.items():
        if value is not None and not isinstance(value, dict):
            assert patched[field] == value


@pytest.mark.parametrize(
    ("live", "wanted", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 2]}),
        ({}, {"a": {}}, {"a": {}}),
    ],
)
def test_an_object_is_replaced_by_what_differs(live, wanted, patch):
    assert replacement(live, wanted) == patch

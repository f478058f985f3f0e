"""RFC 7386; the recorded cases have the answers to what is no patch."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.apiserver.patching.merge_patch import apply_merge_patch

VALUES = st.none() | st.integers(0, 3) | st.text(max_size=2) | st.lists(st.integers(0, 3), max_size=2)
PATCHES = st.recursive(
    st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), VALUES | inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="a value is replaced"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="a value is added"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="null removes"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="a list is replaced"),
        pytest.param({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="maps are merged"),
        pytest.param({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="items are not merged"),
        pytest.param({"a": "foo"}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}, id="null inside a new map goes"),
        pytest.param({}, {"a": [None, {"b": None}]}, {"a": [None, {}]}, id="null in a list stays"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="a null that was there stays"),
    ],
)
def test_merge(before, patch, after):
    original = copy.deepcopy(before)

    assert apply_merge_patch(before, patch) == after
    assert before == original


def test_what_the_patch_does_not_name_is_shared():
    before = {"a": {"b": 1}, "c": {"d": 1}}

    assert apply_merge_patch(before, {"c": {"d": 2}})["a"] is before["a"]


@given(before=PATCHES, patch=PATCHES)
def test_the_same_patch_twice_changes_nothing(before, patch):
    once = apply_merge_patch(before, patch)

    assert apply_merge_patch(once, patch) == once


@given(before=PATCHES, first=PATCHES, second=PATCHES)
def test_two_patches_are_as_good_as_one(before, first, second):
    before = apply_merge_patch({}, before)

    in_turn = apply_merge_patch(apply_merge_patch(before, first), second)

    assert in_turn == apply_merge_patch(before, composed(first, second, before))


def composed(first, second, before):
    """One patch for two: what the second says, over the first, with what the first does where it replaces a map."""
    patch = dict(first)
    for name, value in second.items():
        mine, there = first.get(name), before.get(name)
        if isinstance(value, dict) and isinstance(mine, dict):
            patch[name] = composed(mine, value, there if isinstance(there, dict) else {})
        elif isinstance(value, dict) and name in first and isinstance(there, dict):
            patch[name] = {**dict.fromkeys(there), **value}
        else:
            patch[name] = value
    return patch

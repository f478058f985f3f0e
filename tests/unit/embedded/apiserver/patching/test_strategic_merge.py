"""Strategic merge where the recorded cases do not reach: what is shared, and what does not fit."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.errors import BadRequest, Invalid, ServerError
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.strategic_merge import apply_strategic_merge


def containers(*items):
    return {"spec": {"containers": list(items)}}


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        pytest.param([], [{"name": "a"}], [{"name": "a"}], id="into an empty list"),
        pytest.param([{"name": "a"}], [], [{"name": "a"}], id="an empty patch"),
        pytest.param(
            [{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}], [{"name": "b"}, {"name": "a"}], id="order"
        ),
        pytest.param([{"name": "a", "image": "i"}], [{"name": "a", "image": None}], [{"name": "a"}], id="null deletes"),
        pytest.param([{"name": "a"}], [{"name": "a", "$patch": "delete"}], [], id="the last one goes"),
        pytest.param([{"name": "a"}, {"name": "a"}], [{"name": "a", "$patch": "delete"}], [], id="doubles go too"),
    ],
)
def test_items_are_merged(pod, before, patch, after):
    live = containers(*before)
    original = copy.deepcopy(live)

    assert apply_strategic_merge(live, containers(*patch), pod) == containers(*after)
    assert live == original


@pytest.mark.parametrize(
    ("patch", "error", "message"),
    [
        pytest.param([], BadRequest, "json: cannot unmarshal array", id="no map"),
        pytest.param(containers([1]), Invalid, "the server rejected our request", id="a list of lists"),
        pytest.param({"$setElementOrder/none": []}, ServerError, "unable to find api field", id="an unknown list"),
        pytest.param(
            {"$deleteFromPrimitiveList": []}, BadRequest, "invalid patch format of primitive list", id="delete"
        ),
    ],
)
def test_what_does_not_fit_is_refused(pod, patch, error, message):
    with pytest.raises(error, match=message):
        apply_strategic_merge(containers(), patch, pod)


def test_maps_inside_a_map_cannot_be_merged():
    schema = Schema(type="object", properties={"m": Schema(type="object", values=Schema(type="object"))})

    with pytest.raises(ServerError, match="data type is not struct, instead is: map"):
        apply_strategic_merge({"m": {"a": {}}}, {"m": {"a": {}}}, schema)


def test_a_list_of_maps_without_a_key_cannot_be_merged():
    schema = Schema(type="object", properties={"l": Schema(type="array", patch_strategies=("merge",))})

    with pytest.raises(ServerError, match="cannot merge lists without merge key"):
        apply_strategic_merge({"l": [{}]}, {"l": [{"a": 1}]}, schema)


def test_what_the_patch_does_not_name_is_shared(pod):
    live = {**containers({"name": "a", "env": []}, {"name": "b"}), "metadata": {"labels": {}}}

    after = apply_strategic_merge(live, containers({"name": "a", "image": "i"}), pod)

    assert after["metadata"] is live["metadata"]
    assert after["spec"]["containers"][1] is live["spec"]["containers"][1]


names = st.lists(st.sampled_from("abcde"), unique=True)


@given(before=names, patch=names)
def test_a_patch_twice_changes_nothing_more(pod, before, patch):
    live = containers(*({"name": name} for name in before))
    change = containers(*({"name": name, "image": "i"} for name in patch))

    once = apply_strategic_merge(live, change, pod)

    assert apply_strategic_merge(once, change, pod) == once
    assert {item["name"] for item in once["spec"]["containers"]} == {*before, *patch}

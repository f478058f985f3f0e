"""RFC 6902, as generous as the real server's library; the recorded cases have its answers."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.errors import ApiError, BadRequest, Invalid
from fleetqueue.embedded.apiserver.patching.json_patch import MOST_OPERATIONS, apply_json_patch, same

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
DOCUMENT = {"a": {"b": [1, {"c": 2}], "d/e": 1, "f~g": 2}, "list": ["x", "y"]}


@pytest.mark.parametrize(
    ("operation", "path", "value"),
    [
        pytest.param({"op": "add", "path": "/a/new", "value": 1}, ("a", "new"), 1, id="a key"),
        pytest.param({"op": "add", "path": "/list/-", "value": "z"}, ("list",), ["x", "y", "z"], id="at the end"),
        pytest.param({"op": "add", "path": "/list/1", "value": "z"}, ("list",), ["x", "z", "y"], id="in the middle"),
        pytest.param({"op": "add", "path": "/list/-1", "value": "z"}, ("list",), ["x", "y", "z"], id="from the end"),
        pytest.param({"op": "add", "path": "/a/new"}, ("a", "new"), None, id="nothing is null"),
        pytest.param({"op": "replace", "path": "/a/new", "value": 1}, ("a", "new"), 1, id="a missing key is added"),
        pytest.param({"op": "replace", "path": "/list/-1", "value": "z"}, ("list",), ["x", "z"], id="the last one"),
        pytest.param({"op": "remove", "path": "/list/0"}, ("list",), ["y"], id="an item"),
        pytest.param({"op": "move", "from": "/a/d~1e", "path": "/m"}, ("m",), 1, id="a slash in a key"),
        pytest.param({"op": "copy", "from": "/a/f~0g", "path": "/m"}, ("m",), 2, id="a tilde in a key"),
        pytest.param({"op": "copy", "from": "/a/none", "path": "/m"}, ("m",), None, id="a missing key is null"),
        pytest.param({"op": "test", "path": "/none", "value": None}, ("list",), ["x", "y"], id="nothing is null"),
    ],
)
def test_one_operation(operation, path, value):
    before = copy.deepcopy(DOCUMENT)

    result = apply_json_patch(DOCUMENT, [operation])

    for key in path:
        result = result[key]
    assert result == value
    assert before == DOCUMENT


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "test", "path": "/list/0", "value": "y"}, id="a test that fails"),
        pytest.param({"op": "test", "path": "/a/b/0", "value": True}, id="true is not 1"),
        pytest.param({"op": "remove", "path": "/none"}, id="a missing key"),
        pytest.param({"op": "remove", "path": "/list/2"}, id="after the end"),
        pytest.param({"op": "remove", "path": "/list/-3"}, id="before the beginning"),
        pytest.param({"op": "add", "path": "/list/x", "value": 1}, id="no index"),
        pytest.param({"op": "add", "path": "/list/ 1", "value": 1}, id="an index with a blank"),
        pytest.param({"op": "add", "path": "/none/x", "value": 1}, id="a missing parent"),
        pytest.param({"op": "add", "path": "/list/0/x", "value": 1}, id="inside a text"),
        pytest.param({"op": "add", "path": "", "value": {}}, id="add to nowhere"),
        pytest.param({"op": "replace", "path": "", "value": 1}, id="no object"),
        pytest.param({"op": "move", "path": "/x"}, id="move from nowhere"),
        pytest.param({"op": "jump", "path": "/x"}, id="an unknown operation"),
        pytest.param({"path": "/x"}, id="no operation"),
    ],
)
def test_what_does_not_fit_is_refused(operation):
    with pytest.raises(Invalid, match="the server rejected our request due to an error in our request") as refused:
        apply_json_patch(DOCUMENT, [operation])

    assert (refused.value.reason, refused.value.code, refused.value.details) == ("Invalid", 422, {})


def test_what_is_no_patch_is_a_bad_request():
    with pytest.raises(
        BadRequest, match=r"cannot unmarshal number into Go struct field jsonPatchOp.from of type string"
    ):
        apply_json_patch(DOCUMENT, [{"op": "move", "path": "/a", "from": 1}])


def test_too_many_operations_are_too_large():
    with pytest.raises(ApiError, match="maximum operations in a JSON patch is 10000, got 10001") as refused:
        apply_json_patch({}, [{"op": "test", "path": ""}] * (MOST_OPERATIONS + 1))

    assert (refused.value.code, refused.value.reason) == (413, "RequestEntityTooLarge")


def test_a_copy_is_not_changed_with_its_original():
    operations = [
        {"op": "add", "path": "/a/b/1/c", "value": 3},
        {"op": "copy", "from": "/a", "path": "/copy"},
        {"op": "add", "path": "/copy/b/1/c", "value": 4},
    ]

    result = apply_json_patch(DOCUMENT, operations)

    assert result["a"]["b"][1]["c"] == 3
    assert result["copy"]["b"][1]["c"] == 4


def test_what_is_not_on_the_way_is_shared():
    result = apply_json_patch(DOCUMENT, [{"op": "add", "path": "/list/0", "value": "z"}])

    assert result["a"] is DOCUMENT["a"]


@given(document=st.dictionaries(st.text(max_size=3), JSON, max_size=4), key=st.text(max_size=4), value=JSON)
def test_what_was_added_is_there(document, key, value):
    path = "/" + key.replace("~", "~0").replace("/", "~1")

    result = apply_json_patch(
        document, [{"op": "add", "path": path, "value": value}, {"op": "test", "path": path, "value": value}]
    )

    assert same(result, {**document, key: value})


@given(document=st.dictionaries(st.text(max_size=3), JSON, max_size=4), value=JSON)
def test_add_and_remove_leave_nothing(document, value):
    before = copy.deepcopy(document)

    result = apply_json_patch(
        document, [{"op": "add", "path": "/long key", "value": value}, {"op": "remove", "path": "/long key"}]
    )

    assert same(result, before)
    assert same(document, before)

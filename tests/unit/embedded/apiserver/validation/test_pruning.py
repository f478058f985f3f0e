"""Fields that a schema does not know go away, and their paths are told."""

import copy

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from fleetqueue.embedded.apiserver.kinds.json_values import Unreadable
from fleetqueue.embedded.apiserver.validation.pruning import prune
from fleetqueue.embedded.apiserver.validation.structural_schema import shape

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}}
KEEP = {"x-kubernetes-preserve-unknown-fields": True}
SCHEMA = shape(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "a": {"type": "string"},
                    "maybe": {"type": "string", "nullable": True},
                    "filled": {"type": "string", "default": "A"},
                    "point": POINT,
                    "list": {"type": "array", "items": POINT},
                    "map": {"type": "object", "additionalProperties": POINT},
                    "loose": {"type": "object", "additionalProperties": True},
                    "open": {"type": "object", "properties": {"point": POINT}, **KEEP},
                    "openList": {"type": "array", "items": POINT, **KEEP},
                    "any": KEEP,
                    "inner": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": POINT}},
                },
            }
        },
    }
)


@pytest.mark.parametrize(
    ("spec", "kept", "paths"),
    [
        pytest.param({"zz": 1, "a": "b"}, {"a": "b"}, ["spec.zz"], id="an unknown field goes"),
        pytest.param({"point": {"x": 1, "y": {"z": 1}}}, {"point": {"x": 1}}, ["spec.point.y"], id="with all below it"),
        pytest.param(
            {"list": [{"x": 1}, {"x": 2, "y": 3}]},
            {"list": [{"x": 1}, {"x": 2}]},
            ["spec.list[1].y"],
            id="also in lists",
        ),
        pytest.param({"map": {"k": {"y": 1}}}, {"map": {"k": {}}}, ["spec.map.k.y"], id="a map keeps its keys"),
        pytest.param(
            {"loose": {"k": 1, "l": {"m": 1}}},
            {"loose": {"k": 1, "l": {}}},
            ["spec.loose.l.m"],
            id="but not what is below",
        ),
        pytest.param(
            {"open": {"k": {"l": 1}, "point": {"x": 1, "y": 2}}},
            {"open": {"k": {"l": 1}, "point": {"x": 1}}},
            ["spec.open.point.y"],
            id="where unknown fields are kept, known ones are still pruned inside",
        ),
        pytest.param(
            {"openList": [{"y": 1}]}, {"openList": [{"y": 1}]}, [], id="a list hands keeping down to its items"
        ),
        pytest.param({"any": [{"y": 1}]}, {"any": [{"y": 1}]}, [], id="what has no schema stays"),
        pytest.param(
            {"inner": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "q": 1}, "spec": {"x": 1}, "r": 1}},
            {"inner": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}, "spec": {"x": 1}}},
            ["spec.inner.r", "spec.inner.metadata.q"],
            id="an embedded object keeps what every object has",
        ),
        pytest.param({"a": {"q": 1}}, {"a": {}}, ["spec.a.q"], id="an object where a string belongs is emptied"),
    ],
)
def test_prune(spec, kept, paths):
    obj = {"apiVersion": "t.io/v1", "kind": "Foo", "metadata": {"name": "n"}, "spec": spec}
    before, dropped = copy.deepcopy(obj), []

    pruned = prune(obj, SCHEMA, dropped)

    assert pruned == {**before, "spec": kept}
    assert dropped == paths
    assert obj == before
    assert (pruned is obj) == (not paths)


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        pytest.param({"a": None}, {}, id="a null that means nothing goes"),
        pytest.param({"map": {"k": None}}, {"map": {}}, id="also as a value of a map"),
        pytest.param({"list": [None, {"x": None}]}, {"list": [None, {}]}, id="but not as an item"),
        pytest.param({"maybe": None}, {"maybe": None}, id="one that is allowed stays"),
        pytest.param({"filled": None}, {"filled": None}, id="one that becomes a default stays until then"),
        pytest.param({"loose": {"k": None}}, {"loose": {"k": None}}, id="one that nobody describes stays"),
        pytest.param({"any": None}, {}, id="one where anything else may stand goes"),
    ],
)
def test_nulls(spec, kept):
    dropped = []

    assert prune({"spec": spec}, SCHEMA, dropped) == {"spec": kept}
    assert dropped == []


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        pytest.param({"labels": {}, "annotations": None, "name": "n"}, {"name": "n"}, id="empty maps go"),
        pytest.param({"labels": {"a": None}}, {"labels": {"a": ""}}, id="a null is the empty text"),
        pytest.param(None, {}, id="nothing is no metadata"),
        pytest.param({"generation": 0, "finalizers": []}, {}, id="as do zeros"),
    ],
)
def test_metadata_are_read_as_those_of_built_in_kinds(metadata, kept):
    assert prune({"metadata": metadata}, SCHEMA) == {"metadata": kept}


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        ({"metadata": 5}, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        (
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        (
            {"spec": {"inner": {"metadata": {"name": 1}}}},
            'spec.inner.metadata: Invalid value: {"name":1}: json: cannot unmarshal number into Go struct field'
            " ObjectMeta.name of type string",
        ),
        ({"spec": {"inner": {"kind": 1}}}, "spec.inner.kind: Invalid value: 1: must be a string"),
    ],
)
def test_what_cannot_be_read_is_refused(obj, why):
    with pytest.raises(Unreadable) as refused:
        prune(obj, SCHEMA)

    assert str(refused.value) == why


def test_unknown_metadata_goes_too():
    dropped = []

    prune({"metadata": {"name": "n", "nme": "n"}, "sepc": {}}, SCHEMA, dropped)

    assert dropped == ["metadata.nme", "sepc"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "x", "point", "list", "map", "open", "inner", "any", "metadata", "zz"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_pruning_twice_is_pruning_once_and_changes_nothing_in_place(spec):
    obj = {"spec": spec}
    before = copy.deepcopy(obj)

    try:
        once = prune(obj, SCHEMA)
    except Unreadable:
        reject()

    assert prune(once, SCHEMA) is once
    assert obj == before

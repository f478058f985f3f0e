"""Sets of fields obey the laws of sets, and are written as managedFields has them."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.embedded.apiserver.kinds.schema import ANY, Schema
from fleetqueue.embedded.apiserver.patching import elements
from fleetqueue.embedded.apiserver.patching.field_sets import (
    LEAF,
    NOTHING,
    difference,
    has,
    intersection,
    of_paths,
    ordered,
    paths,
    union,
    without,
)
from fleetqueue.embedded.apiserver.patching.owners import UnreadableOwners, read

ELEMENTS = st.sampled_from(
    [
        "f:a",
        "f:b",
        'k:{"name":"x"}',
        'k:{"port":443,"protocol":"TCP"}',
        'k:{"port":80,"protocol":"TCP"}',
        'v:"x"',
        "i:1",
    ]
)
MEMBERS = st.sets(st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple), max_size=6)


def trie(members):
    fields = NOTHING
    for path in members:
        node = LEAF
        for element in reversed(path):
            node = {element: node}
        fields = union(fields, node)
    return fields


def test_a_set_is_written_as_managed_fields():
    fields = union(of_paths(("metadata", "labels"), ("metadata", "labels", "x")), of_paths(("status",)))

    assert fields == {"f:metadata": {"f:labels": {".": {}, "f:x": {}}}, "f:status": {}}


@given(one=MEMBERS, other=MEMBERS)
def test_operations_are_those_of_sets(one, other):
    mine, theirs = trie(one), trie(other)

    assert set(paths(mine)) == one
    assert set(paths(union(mine, theirs))) == one | other
    assert set(paths(intersection(mine, theirs))) == one & other
    assert set(paths(difference(mine, theirs))) == one - other
    assert set(paths(without(mine, theirs))) == {
        path for path in one if not any(path[: len(each)] == each for each in other)
    }
    assert all(has(mine, path) == (path in one) for path in one | other)
    assert trie(one) == mine, "an operation changed its input"


@given(members=MEMBERS)
def test_fields_survive_the_way_to_a_client_and_back(members):
    fields = ordered(trie(members))
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}

    again = read(orjson.loads(orjson.dumps([entry])), lambda version: ANY)

    (owner,) = again.values()
    assert owner.fields == fields
    assert orjson.dumps(ordered(owner.fields)) == orjson.dumps(fields)


def test_keys_stand_in_the_order_of_their_values():
    fields = ordered({'k:{"port":443}': LEAF, 'k:{"port":80}': LEAF, 'k:{"port":9}': LEAF, ".": LEAF})

    assert list(fields) == [".", 'k:{"port":9}', 'k:{"port":80}', 'k:{"port":443}']


@pytest.mark.parametrize(
    ("item", "element"),
    [
        pytest.param({"name": "x"}, 'k:{"name":"x"}', id="one key"),
        pytest.param({"name": "<&>"}, 'k:{"name":"\\u003c\\u0026\\u003e"}', id="as Go writes JSON"),
        pytest.param({"name": 1}, 'k:{"name":1}', id="a number"),
        pytest.param({"name": True}, 'k:{"name":true}', id="true is not 1"),
        pytest.param({"name": {"a": 1}}, 'k:{"name":{"a":1}}', id="a map"),
    ],
)
def test_an_item_is_found_by_its_key(item, element):
    assert elements.of_item(item, Schema(type="array", list_type="map", list_keys=("name",))) == element


@pytest.mark.parametrize(
    ("stored", "known"),
    [
        pytest.param({'k:{ "b": 2, "a": 1.0}': {}}, {'k:{"a":1,"b":2}': {}}, id="keys written otherwise"),
        pytest.param({"f:a": {".": {}}}, {"f:a": {}}, id="a point too many"),
        pytest.param({"z:new": {}, "f:a": {}}, {"f:a": {}}, id="a sort from the future"),
        pytest.param({".": {}, "f:a": {}}, {"f:a": {}}, id="nobody owns the object itself"),
    ],
)
def test_sets_of_others_are_read_as_ours(stored, known):
    entry = {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": stored}

    (owner,) = read([entry], lambda version: ANY).values()

    assert owner.fields == known


@pytest.mark.parametrize("fields", [{"a": {}}, {"v:{": {}}, {"k:1": {}}, {"f:a": 1}, {"i:x": {}}])
def test_nonsense_is_refused(fields):
    entry = {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}

    with pytest.raises(UnreadableOwners):
        read([entry], lambda version: ANY)

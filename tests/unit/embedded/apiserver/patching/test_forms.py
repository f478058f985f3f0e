"""The form of a new object decides its fields, and the fields of one are those of all of its form."""

import pytest

from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.forms import FieldsByForm, form_of
from fleetqueue.embedded.apiserver.patching.managed_fields import update_managed_fields
from fleetqueue.embedded.apiserver.patching.reset_fields import RESET_NOTHING, Reset

ITEMS = Schema("array", list_type="map", list_keys=("name",), items=Schema("object"))
SCHEMA = Schema("object", properties={"items": ITEMS})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"text": "a"}, {"text": "b"}),
        ({"number": 1}, {"number": 2.5}),
        ({"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}),
    ],
)
def test_what_texts_and_numbers_say_is_not_in_the_form(one, other):
    assert form_of(one) == form_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"text": "a"}, {"text": ""}),
        ({"text": ""}, {"text": None}),
        ({"text": 0}, {"text": False}),
        ({"text": {}}, {"text": []}),
        ({"text": "a"}, {"texts": "a"}),
        ({"items": [{"name": "a"}]}, {"items": [{"name": "b"}]}),
        ({"map": {"a": 1}}, {"map": {"b": 1}}),
    ],
)
def test_all_else_is_in_the_form(one, other):
    assert form_of(one) != form_of(other)


def test_the_fields_of_a_form_are_found_once():
    known, asked = FieldsByForm(), []

    def find():
        asked.append(1)
        return {"f:text": {}}

    first = known.of({"text": "a"}, SCHEMA, RESET_NOTHING, find)
    second = known.of({"text": "b"}, SCHEMA, RESET_NOTHING, find)

    assert first is second
    assert len(asked) == 1


@pytest.mark.parametrize(
    "obj", [{"status": {"phase": "a"}}, {"metadata": {"ownerReferences": [{"uid": "u"}]}}], ids=["reset", "owned"]
)
def test_fields_of_owned_objects_and_of_what_is_reset_are_found_each_time(obj):
    known, asked = FieldsByForm(), []

    for _ in range(2):
        known.of(obj, SCHEMA, Reset({"f:status": {}}), lambda: asked.append(1) or {})

    assert len(asked) == 2


def test_new_objects_of_one_form_own_their_own_items():
    made = [
        update_managed_fields(None, {"items": [{"name": name, "text": name}]}, SCHEMA, "m", "v1", "", "")
        for name in ("a", "b", "a")
    ]

    owned = [[*one["metadata"]["managedFields"][0]["fieldsV1"]["f:items"]] for one in made]
    assert owned == [[".", 'k:{"name":"a"}'], [".", 'k:{"name":"b"}'], [".", 'k:{"name":"a"}']]

"""Server-side apply; the recorded cases have what the real server makes of most of it."""

import copy

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.errors import BadRequest, Conflict, ServerError
from fleetqueue.embedded.apiserver.patching.apply import apply
from fleetqueue.embedded.apiserver.patching.managed_fields import update_managed_fields

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


@pytest.fixture
def put(config_map):
    def put(live, applied, manager="one", now=EARLY, **more):
        return apply(live, {"apiVersion": "v1", **applied}, config_map, manager, "v1", "", now, **more)

    return put


def entries(obj):
    return {entry["manager"]: entry for entry in obj["metadata"].get("managedFields", ())}


def test_a_second_apply_of_the_same_returns_the_same_object(put):
    obj = put(None, {"data": {"a": "1"}})

    assert put(obj, {"data": {"a": "1"}}, now=LATE) is obj


def test_an_apply_that_only_shares_has_no_time(put):
    obj = put(None, {"data": {"a": "1"}})

    obj = put(obj, {"data": {"a": "1"}}, manager="two", now=LATE)

    assert "time" not in entries(obj)["two"]
    assert entries(obj)["one"]["time"] == EARLY


def test_what_the_apply_does_not_touch_is_shared(put):
    obj = put(None, {"data": {"a": "1"}, "binaryData": {"b": "1"}})

    after = put(obj, {"data": {"a": "2"}, "binaryData": {"b": "1"}}, now=LATE)

    assert after["binaryData"] is obj["binaryData"]
    assert obj["data"] == {"a": "1"}


def test_another_type_is_refused(put):
    with pytest.raises(BadRequest, match=r"invalid object type: apps/v1, Kind=Deployment"):
        put(None, {"apiVersion": "apps/v1", "kind": "Deployment"}, kind="ConfigMap")


def test_a_conflict_names_every_field_and_owner(put, config_map):
    obj = put(None, {"data": {"a": "1", "b": "1"}})
    changed = {**obj, "data": {"a": "1", "b": "2", "c": "2"}}
    obj = update_managed_fields(obj, changed, config_map, "kubectl", "v1", "scale", LATE)

    with pytest.raises(Conflict) as refused:
        put(obj, {"data": {"a": "3", "b": "3", "c": "3"}}, manager="two")

    assert refused.value.message == (
        'Apply failed with 3 conflicts: conflicts with "kubectl" with subresource "scale" using v1:\n'
        '- .data.b\n- .data.c\nconflicts with "one":\n- .data.a'
    )
    assert refused.value.details["causes"][2] == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "one"',
        "field": ".data.a",
    }


def test_stored_managed_fields_that_nobody_can_read_are_an_error_of_the_server(put):
    obj = {"metadata": {"uid": "u", "managedFields": [{"manager": "m"}]}}

    with pytest.raises(ServerError, match="failed to decode managed fields: operation must be `Apply` or `Update`"):
        put(obj, {"data": {}})


def test_a_live_list_that_cannot_be_read_is_an_error_of_the_server(pod):
    live = {"metadata": {"uid": "u"}, "spec": {"containers": ["text"]}}
    applied = {"apiVersion": "v1", "spec": {"containers": [{"name": "a"}]}}

    with pytest.raises(ServerError, match="failed to create typed live object"):
        apply(live, applied, pod, "one", "v1", "", EARLY)


def test_an_applier_stays_the_same_in_another_version(put, config_map):
    obj = put(None, {"data": {"a": "1", "b": "1"}})

    obj = apply(obj, {"data": {"a": "1"}}, config_map, "one", "v2", "", LATE)

    assert obj["data"] == {"a": "1"}
    assert [entry["apiVersion"] for entry in obj["metadata"]["managedFields"]] == ["v2"]


def test_too_large_an_annotation_is_left_out(put):
    name = "kubectl.kubernetes.io/last-applied-configuration"
    live = {"apiVersion": "v1", "metadata": {"uid": "u", "annotations": {name: "{}", "big": "x" * 300_000}}}

    obj = put(live, {"data": {"a": "1"}}, manager="kubectl")

    assert name not in obj["metadata"]["annotations"]


words = st.sampled_from("abc")
parts = st.fixed_dictionaries(
    {"port": st.integers(1, 3)}, optional={"protocol": st.sampled_from(["TCP", "UDP"]), "note": words}
)
configurations = st.fixed_dictionaries(
    {"size": st.integers(1, 3)},  # who names no field at all is no owner, and the next apply then finds none
    optional={
        "limit": st.integers(0, 3) | words,
        "tags": st.lists(words, unique=True, min_size=1),  # an empty one names nothing; see the recorded cases
        "steps": st.lists(words, max_size=2),
        "parts": st.lists(
            parts, min_size=1, max_size=3, unique_by=lambda part: (part["port"], part.get("protocol", "TCP"))
        ),
        "whole": st.dictionaries(st.sampled_from("ab"), words),
        "labels": st.dictionaries(words, words),
        "free": st.dictionaries(words, words | st.dictionaries(words, words) | st.lists(words, max_size=2)),
    },
)
managers = st.sampled_from(["one", "two"])


@given(steps=st.lists(st.tuples(managers, configurations), min_size=1, max_size=5))
def test_applying_the_same_again_changes_nothing(custom, steps):
    live = None
    for manager, spec in steps:
        before = copy.deepcopy(live)
        after = apply(live, {"spec": spec}, custom, manager, "v1", "", EARLY, force=True)
        if b"null" in orjson.dumps(after):
            continue  # an emptied map is null, here as on the real server, whose validation mostly refuses it then

        assert apply(after, {"spec": spec}, custom, manager, "v1", "", LATE) == after
        assert live == before
        live = after


@given(first=configurations, second=configurations)
def test_what_is_applied_is_there(custom, first, second):
    live = apply(None, {"spec": first}, custom, "one", "v1", "", EARLY)

    live = apply(live, {"spec": second}, custom, "two", "v1", "", EARLY, force=True)

    assert all(live["spec"].get(name) == value for name, value in second.items() if name in ("size", "limit", "steps"))
    assert set(second.get("tags", ())) <= set(live["spec"].get("tags") or ())


@given(first=configurations, second=configurations)
def test_the_only_applier_leaves_nothing_of_its_old_configuration(custom, first, second):
    live = apply(None, {"spec": first}, custom, "one", "v1", "", EARLY)

    live = apply(live, {"spec": second}, custom, "one", "v1", "", EARLY)

    alone = apply(None, {"spec": second}, custom, "one", "v1", "", EARLY)
    assert fields_of(live) == fields_of(alone)
    assert {name for name, value in (live["spec"] or {}).items() if value} == {name for name in second if second[name]}


def fields_of(obj):
    return [entry["fieldsV1"] for entry in obj.get("metadata", {}).get("managedFields", ())]

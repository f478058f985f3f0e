"""Who owns what after creates, updates and patches; the recorded cases have the rest."""

import pytest

from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching import owners
from fleetqueue.embedded.apiserver.patching.field_sets import of_paths
from fleetqueue.embedded.apiserver.patching.managed_fields import keep_times_of_no_change, update_managed_fields
from fleetqueue.embedded.apiserver.patching.reset_fields import Reset

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


@pytest.fixture
def write(config_map):
    def write(old, new, manager="m", now=EARLY, subresource="", **more):
        return update_managed_fields(old, new, config_map, manager, "v1", subresource, now, **more)

    return write


def stored(write, **data):
    return write(None, {"metadata": {"name": "x", "uid": "u"}, "data": data}, manager="creator")


def entries(obj):
    return {entry["manager"]: entry for entry in obj["metadata"].get("managedFields", ())}


def changed(obj, **data):
    return {**obj, "data": {**obj["data"], **data}}


def test_a_creator_owns_everything_it_wrote(write):
    obj = stored(write, a="1")

    assert obj["metadata"]["managedFields"] == [
        {
            "manager": "creator",
            "operation": "Update",
            "apiVersion": "v1",
            "time": EARLY,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]


def test_an_update_that_changes_nothing_returns_the_same_object(write):
    obj = stored(write, a="1")
    again = {**obj, "data": {"a": "1"}}

    assert write(obj, again, manager="other", now=LATE) is again


def test_the_time_of_an_owner_moves_only_with_its_own_changes(write):
    obj = stored(write, a="1", b="1")

    obj = write(obj, changed(obj, a="2"), manager="other", now=LATE)

    assert entries(obj)["creator"]["time"] == EARLY
    assert entries(obj)["other"]["time"] == LATE


def test_objects_with_the_same_fields_share_one_set(write):
    one, other = stored(write, a="1"), stored(write, a="2")

    assert entries(one)["creator"]["fieldsV1"] is entries(other)["creator"]["fieldsV1"]


def test_of_many_sets_only_some_are_remembered(write, monkeypatch):
    monkeypatch.setattr(owners, "REMEMBERED", 3)

    objects = [stored(write, **{f"a{number}": "1"}) for number in range(10)]

    assert [[*entries(obj)["creator"]["fieldsV1"]["f:data"]][1] for obj in objects] == [f"f:a{n}" for n in range(10)]
    assert len(owners._written) <= 3
    assert len(owners._remembered) <= 3


def test_entries_of_owners_that_lose_nothing_are_shared(write):
    obj = stored(write, a="1")
    before = entries(obj)["creator"]

    obj = write(obj, changed(obj, b="2"), manager="other", now=LATE)

    assert entries(obj)["creator"] is before


def test_an_owner_without_fields_goes(write):
    obj = stored(write, a="1")

    obj = write(obj, {**obj, "data": {"b": "2"}}, manager="other", now=LATE)
    obj = write(obj, {key: value for key, value in obj.items() if key != "data"}, manager="other", now=LATE)

    assert entries(obj) == {}


def test_a_manager_without_a_name_is_unknown(write):
    assert list(entries(write(None, {"data": {"a": "1"}}, manager=""))) == ["unknown"]


def test_a_subresource_cannot_send_managed_fields(write):
    obj = stored(write, a="1")
    sent = {**obj, "metadata": {**obj["metadata"], "managedFields": []}}

    assert write(obj, sent, subresource="status")["metadata"]["managedFields"] == obj["metadata"]["managedFields"]


def test_what_an_endpoint_resets_is_not_owned(write):
    obj = stored(write, a="1")
    new = {**changed(obj, a="2"), "metadata": {**obj["metadata"], "labels": {"l": "1"}}}

    obj = write(obj, new, manager="other", subresource="status", reset=Reset(of_paths(("data",))))

    assert entries(obj)["other"]["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:l": {}}}}
    assert entries(obj)["creator"]["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


def test_fields_that_a_kind_always_has_are_not_set_by_the_creator(pod):
    obj = {"metadata": {}, "spec": {"containers": [{"name": "a"}]}, "status": {}}

    obj = update_managed_fields(None, obj, pod, "m", "v1", "", EARLY)

    assert entries(obj)["m"]["fieldsV1"] == {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}}


def test_the_oldest_updaters_of_each_version_become_one(config_map):
    obj = {"metadata": {"uid": "u"}, "data": {}}
    for number in range(13):
        version = "v1" if number % 2 else "v2"
        new = changed(obj, **{f"k{number}": "1"})
        now = f"2026-01-01T00:00:{number:02}Z"
        obj = update_managed_fields(None if number == 0 else obj, new, config_map, f"m{number}", version, "", now)

    ancient = [entry for entry in obj["metadata"]["managedFields"] if entry["manager"] == "ancient-changes"]
    assert len(obj["metadata"]["managedFields"]) == 10
    assert {entry["apiVersion"]: entry["fieldsV1"]["f:data"].keys() for entry in ancient} == {
        "v1": {"f:k1", "f:k3"},
        "v2": {".", "f:k0", "f:k2", "f:k4"},
    }
    assert {entry["time"] for entry in ancient} == {"2026-01-01T00:00:03Z", "2026-01-01T00:00:04Z"}


def test_an_object_that_cannot_be_read_loses_its_managed_fields(pod):
    obj = {"metadata": {"managedFields": []}, "spec": {"containers": ["text"]}}

    assert update_managed_fields(None, obj, pod, "m", "v1", "", EARLY)["metadata"] == {}


def test_a_list_that_has_become_one_value_is_owned_as_one(config_map):
    before = Schema(type="object", properties={"data": Schema(type="object", values=Schema(type="string"))})
    after = Schema(
        type="object", properties={"data": Schema(type="object", values=Schema(type="string"), is_atomic=True)}
    )
    obj = update_managed_fields(None, {"data": {"a": "1"}}, before, "m", "v1", "", EARLY)

    obj = update_managed_fields(obj, {**obj, "other": 1}, after, "n", "v1", "", EARLY)

    assert entries(obj)["m"]["fieldsV1"] == {"f:data": {}}


def test_true_is_not_one(custom):
    obj = update_managed_fields(None, {"spec": {"free": {"a": 1}}}, custom, "m", "v1", "", EARLY)

    obj = update_managed_fields(obj, {**obj, "spec": {"free": {"a": True}}}, custom, "n", "v1", "", EARLY)

    assert entries(obj)["n"]["fieldsV1"] == {"f:spec": {"f:free": {"f:a": {}}}}


def test_times_alone_are_no_change(write):
    old = stored(write, a="1")
    new = {**old, "metadata": {**old["metadata"], "managedFields": [{**entries(old)["creator"], "time": LATE}]}}

    assert keep_times_of_no_change(old, new) is old
    assert keep_times_of_no_change(old, changed(new, a="2"))["data"] == {"a": "2"}

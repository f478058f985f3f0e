"""The API in memory answers as a real API server does: `pytest -m real tests/unit/testing` asks one the same."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.requests import JSON, Request

ANOTHER = "00000000-0000-0000-0000-000000000000"
"""The uid of another object."""


# Creating


async def test_a_new_object_gets_what_the_server_gives(things):
    made = await things.create(spec={"size": 1}, status={"phase": "mine"})

    metadata = made["metadata"]
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert metadata["generation"] == 1
    assert int(metadata["resourceVersion"]) > 0
    assert "status" not in made
    assert (made["kind"], made["spec"]) == ("Thing", {"size": 1})


async def test_a_taken_name_is_refused(things):
    await things.create()

    with pytest.raises(errors.AlreadyExists, match='"a" already exists'):
        await things.create()


@pytest.mark.parametrize("name", [None, "", "Upper", "under_score", "-a", "a..b", "x" * 254])
async def test_a_bad_name_is_refused(things, name):
    manifest = things.manifest("x")
    manifest["metadata"]["name"] = name

    with pytest.raises(errors.Invalid):
        await things.client.create(things.resource, manifest)


async def test_a_name_can_be_generated(things):
    manifest = things.manifest("x")
    manifest["metadata"] = {"generateName": "x-", "namespace": things.namespace}

    made = await things.client.create(things.resource, manifest)

    assert made["metadata"]["name"].startswith("x-")
    assert len(made["metadata"]["name"]) == 7


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"a": "x" * 64}},
        {"labels": {"a": "with space"}},
        {"labels": {"a/b/c": "x"}},
        {"labels": {"": "x"}},
        {"annotations": {"no spaces here": "x"}},
    ],
)
async def test_bad_labels_and_annotations_are_refused(things, metadata):
    with pytest.raises(errors.Invalid):
        await things.create(**metadata)


async def test_another_namespace_than_that_of_the_path_is_refused(things):
    body = things.manifest("a")
    body["metadata"]["namespace"] = "elsewhere"
    request = Request("POST", things.resource.path(things.namespace), {}, body, JSON)

    response = await things.client.door.request(request, timeout=30)

    assert response.status == 400


async def test_a_version_makes_no_sense_in_a_new_object(things):
    manifest = things.manifest("a")
    manifest["metadata"]["resourceVersion"] = "5"

    with pytest.raises(errors.ApiError, match="resourceVersion should not be set on objects to be created"):
        await things.client.create(things.resource, manifest)


# Reading


@pytest.mark.parametrize("verb", ["get", "merge", "delete"])
async def test_what_is_not_there_is_not_found(things, verb):
    call = {"get": things.get, "merge": lambda: things.merge({"spec": {}}), "delete": things.delete}[verb]

    with pytest.raises(errors.NotFound, match='"a" not found'):
        await call()


async def test_an_unknown_path_is_not_found(things):
    with pytest.raises(errors.NotFound):
        await things.client.read("/no/such/path")


async def test_a_list_comes_in_pages_of_one_moment(things):
    for number in range(5):
        await things.create(f"t{number}", labels={"odd": str(number % 2)})
    path = things.resource.path(things.namespace)

    first = await things.client.door.request(Request("GET", path, {"limit": "2"}), timeout=30)
    await things.create("t9")
    token = first.body["metadata"]["continue"]
    second = await things.client.door.request(Request("GET", path, {"limit": "5", "continue": token}), timeout=30)

    assert [item["metadata"]["name"] for item in first.body["items"]] == ["t0", "t1"]
    assert [item["metadata"]["name"] for item in second.body["items"]] == ["t2", "t3", "t4"]
    assert second.body["metadata"]["resourceVersion"] == first.body["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=x", ["a"]),
        ("tier==x", ["a"]),
        ("tier!=x", ["b", "c"]),
        ("tier", ["a", "b"]),
        ("!tier", ["c"]),
        ("tier in (x,y)", ["a", "b"]),
        ("tier notin (x)", ["b", "c"]),
        ("tier=x,!tier", []),
    ],
)
async def test_labels_select(things, selector, names):
    for name, labels in (("a", {"tier": "x"}), ("b", {"tier": "y"}), ("c", None)):
        await things.create(name, labels=labels)

    page = await things.client.list(things.resource, things.namespace, labels=selector)

    assert [item["metadata"]["name"] for item in page.items] == names


async def test_names_select_and_other_fields_are_refused(things):
    await things.create("a")
    await things.create("b")

    page = await things.client.list(things.resource, things.namespace, fields="metadata.name=b")

    assert [item["metadata"]["name"] for item in page.items] == ["b"]
    with pytest.raises(errors.BadRequest):
        await things.client.list(things.resource, things.namespace, fields="spec.size=1")


async def test_items_of_a_built_in_list_do_not_say_their_kind(client, namespace):
    await client.create(ConfigMap.resource, ConfigMap.manifest("c", namespace))

    page = await client.list(ConfigMap.resource, namespace, fields="metadata.name=c")

    assert "kind" not in page.items[0]
    assert "apiVersion" not in page.items[0]


async def test_items_of_a_custom_list_say_their_kind(things):
    await things.create()

    page = await things.client.list(things.resource, things.namespace)

    assert page.items[0]["kind"] == "Thing"


# Patching


async def test_a_merge_patch_sets_replaces_and_removes(things):
    await things.create(spec={"a": 1, "b": {"c": 1, "d": 2}, "list": [1, 2]}, labels={"x": "1"})

    patched = await things.merge({"spec": {"a": None, "b": {"c": 3}, "list": [3]}, "metadata": {"labels": {"y": "2"}}})

    assert patched["spec"] == {"b": {"c": 3, "d": 2}, "list": [3]}
    assert patched["metadata"]["labels"] == {"x": "1", "y": "2"}


async def test_a_new_generation_comes_with_a_new_spec_only(things):
    await things.create(spec={"a": 1})

    labelled = await things.merge({"metadata": {"labels": {"x": "1"}}})
    changed = await things.merge({"spec": {"a": 2}})
    with_status = await things.merge({"status": {"phase": "ready"}}, subresource="status")

    assert [made["metadata"]["generation"] for made in (labelled, changed, with_status)] == [1, 2, 2]


async def test_a_patch_that_changes_nothing_makes_no_new_version(things):
    made = await things.create(spec={"a": 1})

    again = await things.merge({"spec": {"a": 1}})

    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_spec_and_status_have_their_own_doors(things):
    await things.create(spec={"a": 1})

    by_status = await things.merge({"spec": {"a": 2}, "status": {"phase": "x"}}, subresource="status")
    by_spec = await things.merge({"spec": {"a": 3}, "status": {"phase": "y"}})

    assert (by_status["spec"], by_status["status"]) == ({"a": 1}, {"phase": "x"})
    assert (by_spec["spec"], by_spec["status"]) == ({"a": 3}, {"phase": "x"})


@pytest.mark.parametrize(
    ("stale", "code"),
    [
        ({"resourceVersion": "1"}, 409),
        ({"uid": ANOTHER}, 422),
        ({"resourceVersion": "1", "uid": ANOTHER}, 409),
    ],
)
async def test_a_stale_patch_is_a_conflict(things, stale, code):
    await things.create()

    with pytest.raises(errors.Conflict) as refused:
        await things.merge({"metadata": stale, "spec": {"a": 1}})

    assert refused.value.code == code


async def test_a_patch_for_what_was_read_is_taken(things):
    metadata = (await things.create())["metadata"]

    patch = {"metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}, "spec": {"a": 1}}

    assert (await things.merge(patch))["spec"] == {"a": 1}


async def test_what_the_server_gave_cannot_be_changed(things):
    made = await things.create()

    patched = await things.merge({"metadata": {"creationTimestamp": None, "generation": 7, "deletionTimestamp": None}})

    for field in ("creationTimestamp", "generation", "uid"):
        assert patched["metadata"][field] == made["metadata"][field]


# Deleting


async def test_what_was_deleted_is_gone(things):
    await things.create()

    await things.delete()

    with pytest.raises(errors.NotFound):
        await things.get()


async def test_only_the_object_with_the_uid_is_deleted(things):
    made = await things.create()

    with pytest.raises(errors.Conflict):
        await things.delete(uid=ANOTHER)
    await things.delete(uid=made["metadata"]["uid"])


async def test_finalizers_hold_an_object_until_the_last_is_gone(things):
    await things.create()
    await things.merge({"metadata": {"finalizers": ["test.dev/a", "test.dev/b"]}})

    await things.delete()
    held = await things.get()
    await things.delete()
    await things.merge({"metadata": {"finalizers": ["test.dev/b"]}})
    await things.merge({"metadata": {"finalizers": None}})

    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["generation"] == 2
    with pytest.raises(errors.NotFound):
        await things.get()


async def test_a_dying_object_takes_no_new_finalizer(things):
    await things.create()
    await things.merge({"metadata": {"finalizers": ["test.dev/a"]}})
    await things.delete()

    with pytest.raises(errors.Invalid, match="no new finalizers can be added"):
        await things.merge({"metadata": {"finalizers": ["test.dev/a", "test.dev/b"]}})

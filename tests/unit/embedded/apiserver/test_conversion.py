"""One object in two versions: v1 is stored and calls it `size`, v1beta1 calls it `length`."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage import keys
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.manifests.object_parts import changed, renamed
from fleetqueue.testing.virtual_time import settle
from tests.unit.embedded.apiserver.custom_objects import CRDS, definition

pytestmark = pytest.mark.virtual_time

NEW = Resource("test.io", "v1", "Widget", "widgets")
OLD = Resource("test.io", "v1beta1", "Widget", "widgets")


def version(resource, *, storage, **fields):
    spec = {"type": "object", "properties": fields}
    status = {"type": "object", "properties": {"phase": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return {
        "name": resource.version,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": f".spec.{next(iter(fields))}"}],
    }


TEXT = {"type": "string"}
COLOR = {"type": "string", "default": "red"}
VERSIONS = [
    version(NEW, storage=True, size={"type": "integer"}, note=TEXT, color=COLOR),
    version(OLD, storage=False, length={"type": "integer", "maximum": 100}, note=TEXT, hint=TEXT),
]


def convert(obj, wanted):
    if (obj.get("spec") or {}).get("length") == 13:
        metadata = {**obj["metadata"], "labels": {"unlucky": "true"}, "name": "another"}
        obj = {**obj, "metadata": metadata}
    names = ("length", "size") if wanted == "v1" else ("size", "length")
    return changed(obj, "spec", lambda spec: renamed(spec, *names))


def widget(resource, name="w", **spec):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": resource.api_version, "kind": "Widget", "metadata": metadata, "spec": spec}


@pytest.fixture
async def server():
    secrets = Secrets(tokens={"admin": User("admin", ("system:masters",))})
    server = ApiServer(await ClusterStorage.open(MemoryLog()), secrets, {("test.io", "Widget"): convert})
    await server.start()
    task = asyncio.create_task(server.run())
    yield server
    task.cancel()
    await asyncio.wait({task})


@pytest.fixture
async def client(server):
    client = Client(InProcessDoor(server, RequestCredentials(token="admin")))
    await client.create(CRDS, definition(versions=VERSIONS))
    await settle()
    return client


def stored(server, name="w"):
    return server.storage.get(keys.key_of("test.io", "widgets", "default", name)).object


async def both(client, name="w"):
    """Return the specs that readers of the two versions see."""
    return [(await client.get(resource, name, "default"))["spec"] for resource in (OLD, NEW)]


async def test_each_version_is_read_in_its_own_words(client):
    made = await client.create(OLD, widget(OLD, length=3))

    assert (made["apiVersion"], made["spec"]) == ("test.io/v1beta1", {"length": 3})
    assert await both(client) == [{"length": 3}, {"size": 3, "color": "red"}]


async def test_an_object_is_stored_in_the_stored_version_whoever_writes_it(client, server):
    await client.create(OLD, widget(OLD, "a", length=3))
    await client.create(NEW, widget(NEW, "b", size=3))

    assert stored(server, "a")["apiVersion"] == stored(server, "b")["apiVersion"] == "test.io/v1"
    assert stored(server, "a")["spec"] == stored(server, "b")["spec"]


async def test_what_the_other_version_does_not_know_is_not_kept(client):
    await client.create(OLD, widget(OLD, length=3, hint="x"))

    assert await both(client) == [{"length": 3}, {"size": 3, "color": "red"}]


async def test_a_conversion_changes_labels_and_no_other_metadata(client):
    await client.create(OLD, widget(OLD, length=13))

    found = await client.get(NEW, "w", "default")
    assert found["metadata"]["labels"] == {"unlucky": "true"}
    assert found["metadata"]["name"] == "w"


async def test_an_object_is_checked_in_the_version_in_which_it_is_written(client):
    await client.create(NEW, widget(NEW, size=200))

    with pytest.raises(errors.Invalid, match="should be less than or equal to 100"):
        await client.create(OLD, widget(OLD, "v", length=200))
    assert await both(client) == [{"length": 200}, {"size": 200, "color": "red"}]


async def test_a_patch_is_put_on_the_version_that_it_names(client):
    await client.create(NEW, widget(NEW, size=1, color="blue"))

    after = await client.merge(OLD, "w", "default", {"spec": {"length": 2}})

    assert after["spec"] == {"length": 2}
    assert after["metadata"]["generation"] == 2


async def test_what_a_version_cannot_say_is_lost_when_an_object_is_written_in_it(client):
    await client.create(NEW, widget(NEW, size=1, color="blue"))

    await client.merge(OLD, "w", "default", {"spec": {"length": 2}})

    assert await both(client) == [{"length": 2}, {"size": 2, "color": "red"}]


async def test_a_change_of_the_status_leaves_the_rest_alone(client):
    await client.create(NEW, widget(NEW, size=1))

    await client.merge(OLD, "w", "default", {"status": {"phase": "Run"}}, subresource="status")

    found = await client.get(NEW, "w", "default")
    assert (found["status"], found["spec"]["size"]) == ({"phase": "Run"}, 1)


async def test_an_apply_speaks_of_the_fields_of_its_version(client):
    await client.apply(OLD, widget(OLD, length=3))

    after = await client.apply(OLD, widget(OLD, length=4))

    assert after["spec"] == {"length": 4}
    [entry] = after["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["fieldsV1"]) == ("test.io/v1beta1", {"f:spec": {"f:length": {}}})


async def test_entries_of_managed_fields_keep_their_version(client):
    await client.apply(NEW, widget(NEW, size=3))
    await client.merge(OLD, "w", "default", {"metadata": {"labels": {"a": "b"}}})

    versions = [
        sorted(entry["apiVersion"] for entry in (await client.get(face, "w", "default"))["metadata"]["managedFields"])
        for face in (OLD, NEW)
    ]

    assert versions == [["test.io/v1", "test.io/v1beta1"]] * 2


def owned(obj):
    """Return what each manager owns, and in which version it says so."""
    return {
        entry["manager"]: (entry["apiVersion"].partition("/")[2], entry["fieldsV1"])
        for entry in obj["metadata"]["managedFields"]
    }


async def test_who_changes_a_field_takes_it_from_its_owner_in_another_version(client):
    await client.apply(NEW, widget(NEW, size=3, color="blue"), manager="a")

    await client.merge(OLD, "w", "default", {"spec": {"length": 4}})

    found = owned(await client.get(NEW, "w", "default"))
    assert found["a"] == ("v1", {"f:spec": {"f:color": {}}})
    assert found["fleetqueue"] == ("v1beta1", {"f:spec": {"f:length": {}}})


async def test_a_field_that_another_owns_in_another_version_is_a_conflict(client):
    await client.apply(NEW, widget(NEW, size=3), manager="a")

    with pytest.raises(errors.Conflict, match=r'conflict with "a": \.spec\.size'):
        await client.apply(OLD, widget(OLD, length=4), manager="b", force=False)


async def test_what_was_applied_in_one_version_goes_when_it_is_not_named_in_another(client):
    await client.apply(OLD, widget(OLD, length=3, note="x"), manager="a")

    after = await client.apply(NEW, widget(NEW, note="y"), manager="a")

    assert after["spec"] == {"note": "y", "color": "red"}
    assert owned(after) == {"a": ("v1", {"f:spec": {"f:note": {}}})}


async def told(client, resource, since, count):
    """Return the first events that a watch tells."""
    found = []
    async with client.watch(resource, query={"resourceVersion": since}, silence=60) as events:
        async for event in events:
            found.append((event.type, event.object["apiVersion"], event.object["spec"]))
            if len(found) == count:
                return found


async def test_lists_and_watches_tell_of_the_same_objects_in_their_versions(client):
    await client.create(NEW, widget(NEW, size=1))
    old, new = await client.list(OLD), await client.list(NEW)
    await client.merge(OLD, "w", "default", {"spec": {"length": 2}})
    await client.delete(NEW, "w", "default")

    events = [*await told(client, OLD, old.resource_version, 2), *await told(client, NEW, new.resource_version, 2)]

    assert [item["spec"] for item in (*old.items, *new.items)] == [{"length": 1}, {"size": 1, "color": "red"}]
    assert events == [
        ("MODIFIED", "test.io/v1beta1", {"length": 2}),
        ("DELETED", "test.io/v1beta1", {"length": 2}),
        ("MODIFIED", "test.io/v1", {"size": 2, "color": "red"}),
        ("DELETED", "test.io/v1", {"size": 2, "color": "red"}),
    ]


async def test_a_field_is_selected_by_the_name_that_the_version_gives_it(client):
    await client.create(NEW, widget(NEW, "small", size=1))
    await client.create(NEW, widget(NEW, "big", size=2))

    found = await client.list(OLD, fields="spec.length=2")

    assert [item["metadata"]["name"] for item in found.items] == ["big"]


async def test_a_write_that_changes_nothing_in_its_version_is_no_change(client):
    made = await client.create(NEW, widget(NEW, size=1, color="blue"))

    after = await client.merge(OLD, "w", "default", {"spec": {"length": 1}})

    assert after["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert await both(client) == [{"length": 1}, {"size": 1, "color": "blue"}]


async def test_what_was_stored_in_another_version_is_still_read(client, server):
    await client.create(NEW, widget(NEW, size=1))
    moved = [{**each, "storage": not each["storage"]} for each in VERSIONS]

    await client.merge(CRDS, "widgets.test.io", "", {"spec": {"versions": moved}})
    await settle()
    await client.create(OLD, widget(OLD, "v", length=2))

    assert [stored(server, name)["apiVersion"] for name in ("w", "v")] == ["test.io/v1", "test.io/v1beta1"]
    assert await both(client, "w") == [{"length": 1}, {"size": 1, "color": "red"}]
    assert await both(client, "v") == [{"length": 2}, {"size": 2}]

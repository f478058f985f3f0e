"""Kinds that a user defines: served at once, checked by their schema, gone with their definition."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.scheme import Resource
from fleetqueue.testing.virtual_time import advance, running, settle
from tests.unit.embedded.apiserver.custom_objects import CRDS, SCHEMA, WIDGETS, conditions, definition, widget

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def following(server):
    """The server follows its definitions."""
    async with running(server.run()):
        await settle()
        yield


@pytest.fixture
async def defined(client, following):
    await client.create(CRDS, definition())
    await settle()


@pytest.mark.usefixtures("defined")
async def test_a_definition_is_established_and_listed(client):
    found = await client.get(CRDS, "widgets.test.io")
    served = await client.read("/apis/test.io/v1")

    assert conditions(found) == {"NamesAccepted": "True", "Established": "True"}
    assert found["status"]["acceptedNames"]["listKind"] == "WidgetList"
    assert found["status"]["storedVersions"] == ["v1"]
    assert [resource["name"] for resource in served["resources"]] == ["widgets", "widgets/status"]


@pytest.mark.usefixtures("defined")
async def test_objects_are_pruned_and_filled_in(client):
    made = await client.create(WIDGETS, widget(spec={"size": 3, "unknown": 1}))

    assert made["spec"] == {"size": 3, "color": "red"}
    assert made["metadata"]["generation"] == 1


@pytest.mark.usefixtures("defined")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "spec.size: Required value"),
        ({"size": 0}, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"),
        ({"size": "x"}, 'spec.size: Invalid value: "string"'),
        ({"size": 1, "color": "green"}, 'spec.color: Unsupported value: "green": supported values: "red", "blue"'),
        ({"size": 100}, "too big"),
    ],
)
async def test_what_the_schema_forbids_is_refused(client, spec, message):
    with pytest.raises(errors.Invalid) as refused:
        await client.create(WIDGETS, widget(spec=spec))

    assert message in refused.value.message


@pytest.mark.usefixtures("defined")
async def test_the_status_has_an_endpoint_of_its_own(client):
    await client.create(WIDGETS, widget())

    after = await client.merge(WIDGETS, "w", "default", {"status": {"phase": "Run"}}, subresource="status")

    assert (after["status"], after["metadata"]["generation"]) == ({"phase": "Run"}, 1)


@pytest.mark.usefixtures("following")
async def test_another_version_is_the_same_object_under_another_name(client):
    version = {"served": True, "schema": {"openAPIV3Schema": SCHEMA}}
    versions = [{**version, "name": "v1", "storage": True}, {**version, "name": "v1beta1", "storage": False}]
    await client.create(CRDS, definition(versions=versions))
    await settle()
    beta = Resource("test.io", "v1beta1", "Widget", "widgets")

    await client.create(beta, widget(version="v1beta1"))
    newer, older = await client.get(WIDGETS, "w", "default"), await client.get(beta, "w", "default")

    assert (newer["apiVersion"], older["apiVersion"]) == ("test.io/v1", "test.io/v1beta1")
    assert newer["metadata"]["uid"] == older["metadata"]["uid"]


@pytest.mark.usefixtures("defined")
async def test_a_name_that_another_definition_has_is_not_accepted(client):
    await client.create(CRDS, definition("gadgets.test.io", plural="gadgets"))
    await settle()

    found = await client.get(CRDS, "gadgets.test.io")
    assert conditions(found) == {"NamesAccepted": "False", "Established": "False"}
    with pytest.raises(errors.NotFound):
        await client.list(Resource("test.io", "v1", "Widget", "gadgets"))


@pytest.mark.usefixtures("defined")
async def test_with_its_definition_all_objects_go(client):
    await client.create(WIDGETS, widget())

    await client.delete(CRDS, "widgets.test.io")
    await advance(2)

    with pytest.raises(errors.NotFound, match=r'"widgets.test.io" not found'):
        await client.get(CRDS, "widgets.test.io")
    with pytest.raises(errors.NotFound, match="the server could not find the requested resource"):
        await client.list(WIDGETS)


async def test_a_definition_that_waits_for_its_objects_goes_also_after_a_restart(client, server):
    async with running(server.run()):
        await settle()
        await client.create(CRDS, definition())
        await settle()
        held = widget()
        held["metadata"]["finalizers"] = ["test.io/held"]
        await client.create(WIDGETS, held)
        await client.delete(CRDS, "widgets.test.io")
        await advance(2)
    async with running(server.run()):
        await settle()
        await client.merge(WIDGETS, "w", "default", {"metadata": {"finalizers": None}})
        await advance(2)

        with pytest.raises(errors.NotFound, match=r'"widgets.test.io" not found'):
            await client.get(CRDS, "widgets.test.io")


@pytest.mark.usefixtures("following")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "other.test.io"}, 'must be spec.names.plural+"."+spec.group'),
        ({"versions": []}, "must have exactly one version marked as storage version"),
        ({"versions": [{"name": "v1", "served": True, "storage": True}]}, "openAPIV3Schema: Required value"),
        ({"group": "nodots", "name": "widgets.nodots"}, "should be a domain with at least one dot"),
    ],
)
async def test_bad_definitions_are_refused(client, change, message):
    bad = definition(**{key: value for key, value in change.items() if key != "versions"})
    if "versions" in change:
        bad["spec"]["versions"] = change["versions"]

    with pytest.raises(errors.Invalid) as refused:
        await client.create(CRDS, bad)

    assert message in refused.value.message

"""What kubectl reads in the OpenAPI documents."""

import orjson
import pytest

from fleetqueue.api import errors
from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.apiserver.http.openapi import OpenApi
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.registry.builtin import built_in
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.embedded.apiserver.registry.served import Served

SPEC = Schema(
    "object",
    properties={
        "size": Schema("integer", rules={"minimum": 1}),
        "list": Schema(
            "array", items=Schema("object", properties={"name": Schema("string")}), list_type="map", list_keys=["name"]
        ),
        "any": Schema("object", keeps_unknown=True),
        "port": Schema(is_int_or_string=True),
        "template": Schema("object", is_embedded=True, keeps_unknown=True),
    },
    required=("size",),
)


def widget(schema=SPEC):
    resource = Resource("t.io", "v1", "Widget", "widgets")
    root = Schema("object", properties={"spec": schema})
    return Served(resource, root, list_kind="WidgetList", subresources=("status",), is_custom=True)


@pytest.fixture
def resources():
    return Resources(built_in())


@pytest.fixture
def openapi(resources):
    return OpenApi(resources)


def document(openapi, path):
    return orjson.loads(openapi.document(path))


def patch_of(found, kind):
    """Find what kubectl looks for: the PATCH operation of a kind."""
    operations = (path["patch"] for path in found["paths"].values() if "patch" in path)
    return next(one for one in operations if one["x-kubernetes-group-version-kind"]["kind"] == kind)


def schema_of(found, **kind):
    return next(
        one for one in found["components"]["schemas"].values() if kind in one.get("x-kubernetes-group-version-kind", ())
    )


def references(value):
    if isinstance(value, dict):
        yield from (value["$ref"],) if isinstance(value.get("$ref"), str) else ()
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_the_index_leads_to_every_document(openapi):
    paths = document(openapi, "")["paths"]

    assert {"api/v1", "apis/batch/v1", "apis/apps/v1"} <= set(paths)
    for path, entry in paths.items():
        assert entry["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")
        assert document(openapi, path)["openapi"] == "3.0.0"


def test_every_reference_is_there(openapi):
    for path in document(openapi, "")["paths"]:
        found = document(openapi, path)
        wanted = {reference.removeprefix("#/components/schemas/") for reference in references(found)}
        assert wanted <= set(found["components"]["schemas"])


@pytest.mark.parametrize(("path", "kind"), [("api/v1", "Pod"), ("apis/batch/v1", "Job"), ("api/v1", "Namespace")])
def test_a_built_in_kind_can_be_checked_and_merged_by_the_server(openapi, path, kind):
    patch = patch_of(document(openapi, path), kind)

    assert {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}} in patch["parameters"]
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]


def test_lists_say_how_they_are_merged(openapi):
    schemas = document(openapi, "api/v1")["components"]["schemas"]

    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_explain_finds_the_shape_of_a_kind(openapi):
    found = document(openapi, "apis/batch/v1")

    job = schema_of(found, group="batch", version="v1", kind="Job")
    assert job["properties"]["spec"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.batch.v1.JobSpec"}]
    assert found["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs"]["get"]["x-kubernetes-group-version-kind"] == {
        "group": "batch",
        "version": "v1",
        "kind": "Job",
    }


def test_a_custom_kind_has_a_document_from_the_moment_it_is_served(openapi, resources):
    before = openapi.document("")

    resources.add(widget())

    found = document(openapi, "apis/t.io/v1")
    shape = schema_of(found, group="t.io", version="v1", kind="Widget")
    spec = shape["properties"]["spec"]
    assert shape["properties"]["metadata"]["allOf"][0]["$ref"].endswith("meta.v1.ObjectMeta")
    assert spec["required"] == ["size"]
    assert spec["properties"]["size"] == {"type": "integer", "minimum": 1}
    assert spec["properties"]["list"]["x-kubernetes-list-map-keys"] == ["name"]
    assert spec["properties"]["any"]["x-kubernetes-preserve-unknown-fields"] is True
    assert spec["properties"]["template"]["required"] == ["kind", "apiVersion"]
    assert spec["properties"]["port"]["x-kubernetes-int-or-string"] is True
    assert "application/strategic-merge-patch+json" not in patch_of(found, "Widget")["requestBody"]["content"]
    assert openapi.document("") != before


def test_another_shape_has_another_address(openapi, resources):
    resources.add(widget())
    before = document(openapi, "")["paths"]

    resources.add(widget(Schema("object")))

    after = document(openapi, "")["paths"]
    assert after["apis/t.io/v1"] != before["apis/t.io/v1"]
    assert after["api/v1"] == before["api/v1"]


def test_equal_clusters_share_their_documents(openapi):
    assert OpenApi(Resources(built_in())).document("api/v1") is openapi.document("api/v1")


@pytest.mark.parametrize("path", ["api/v9", "apis/t.io/v1", "nothing"])
def test_what_is_not_served_has_none(openapi, path):
    with pytest.raises(errors.NotFound):
        openapi.document(path)

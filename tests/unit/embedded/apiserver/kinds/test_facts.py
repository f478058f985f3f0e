"""What the facts table knows of the built-in kinds, and the schemas that are built from it."""

import subprocess
import sys

import pytest
from msgspec import UNSET

from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.table import UnknownKind, table, type_of

KINDS = {(kind.group, kind.version, kind.plural): kind for kind in facts.kinds()}
EVERYTHING = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def at(schema, path):
    """Follow a path such as spec.containers[].ports[] into a schema."""
    for part in path.split("."):
        schema = schema.child(part.removesuffix("[]"))
        schema = schema.items if part.endswith("[]") else schema
    return schema


def test_importing_reads_nothing():
    modules = "from fleetqueue.embedded.apiserver.kinds import facts, protobuf, table"
    code = f"{modules}; print(table.table.cache_info().currsize)"

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert answer.stdout == "0\n"


def test_every_group_of_kubernetes_is_known():
    groups = {kind.group for kind in facts.kinds()}

    assert len(groups) == 23
    assert {"", "apps", "batch", "apiextensions.k8s.io", "apiregistration.k8s.io", "resource.k8s.io"} <= groups


def test_discovery_lists_core_first_and_the_preferred_version_of_a_group_first():
    assert facts.kinds()[0].group == ""
    autoscaling = [kind.version for kind in facts.kinds() if kind.group == "autoscaling"]
    assert list(dict.fromkeys(autoscaling)) == ["v2", "v1"]


def test_a_pod_is_served_as_kubernetes_serves_it():
    pod = KINDS["", "v1", "pods"]

    assert (pod.kind, pod.namespaced, pod.singular, pod.list_kind) == ("Pod", True, "pod", "PodList")
    assert (pod.short_names, pod.categories, pod.verbs) == (("po",), ("all",), EVERYTHING)
    assert pod.has_status
    assert pod.subresource("scale") is None
    assert pod.resource.path("ns", "a", "log") == "/api/v1/namespaces/ns/pods/a/log"


@pytest.mark.parametrize(
    ("group", "plural", "subresource", "kind"),
    [
        pytest.param("", "pods", "eviction", ("policy", "v1", "Eviction"), id="an eviction is a kind of another group"),
        pytest.param("", "serviceaccounts", "token", ("authentication.k8s.io", "v1", "TokenRequest"), id="a token"),
        pytest.param("apps", "deployments", "scale", ("autoscaling", "v1", "Scale"), id="a scale"),
        pytest.param("apps", "deployments", "status", ("apps", "v1", "Deployment"), id="a status is the object itself"),
    ],
)
def test_subresources_have_their_own_kinds(group, plural, subresource, kind):
    found = KINDS[group, "v1", plural].subresource(subresource)

    assert (found.group, found.version, found.kind) == kind


def test_alpha_and_beta_versions_are_off_by_default():
    assert KINDS["resource.k8s.io", "v1", "resourceslices"].is_on_by_default
    assert not KINDS["resource.k8s.io", "v1beta1", "resourceslices"].is_on_by_default


def test_a_review_cannot_be_listed():
    assert KINDS["authorization.k8s.io", "v1", "subjectaccessreviews"].list_kind == ""


def test_every_resource_has_a_schema_with_metadata_and_so_has_its_list():
    for kind in facts.kinds():
        assert "metadata" in facts.schema(kind.group, kind.version, kind.kind).properties
        if kind.list_kind:
            assert facts.schema(kind.group, kind.version, kind.list_kind).properties["items"].type == "array"


def test_every_type_that_a_field_names_is_described():
    described = {name.lstrip("*=[]{}") for fields in table().types.values() for name in (f.type for f in fields)}

    undescribed = {name.rpartition(".")[2] for name in described - table().types.keys() if "." in name}

    assert undescribed == {
        *("Time", "MicroTime", "Quantity", "IntOrString", "RawExtension", "FieldsV1"),
        *("JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"),
    }


def test_the_options_of_a_request_are_a_kind_of_every_group():
    options = facts.schema("apps", "v1", "DeleteOptions")

    assert options.properties["gracePeriodSeconds"].type == "integer"


@pytest.mark.parametrize(
    ("api_version", "group", "version", "kind"),
    [
        pytest.param("apps/v1", "apps", "v1", "Pod", id="a kind of another group"),
        pytest.param("v9", "", "v9", "Pod", id="a version that nobody has"),
        pytest.param("my.io/v1", "my.io", "v1", "DeleteOptions", id="the options of a group that is not built in"),
    ],
)
def test_an_unknown_kind_is_an_error(api_version, group, version, kind):
    with pytest.raises(UnknownKind, match=f'no kind "{kind}" is registered for version "{api_version}"'):
        type_of(group, version, kind)


@pytest.mark.parametrize(
    ("path", "json_type", "json_format"),
    [
        ("metadata.name", "string", ""),
        ("metadata.creationTimestamp", "string", "date-time"),
        ("metadata.labels.anything", "string", ""),
        ("spec.activeDeadlineSeconds", "integer", "int64"),
        ("spec.hostNetwork", "boolean", ""),
        ("spec.containers[].resources.limits.cpu", "", "quantity"),
        ("spec.containers[].livenessProbe.httpGet.port", "", "int-or-string"),
        ("spec.volumes[].emptyDir.medium", "string", ""),
    ],
)
def test_types_of_a_pod(path, json_type, json_format):
    found = at(facts.schema("", "v1", "Pod"), path)

    assert (found.type, found.format) == (json_type, json_format)


def test_lists_say_how_they_merge():
    pod = facts.schema("", "v1", "Pod")
    ports = at(pod, "spec.containers[]").child("ports")
    volumes = at(pod, "spec.volumes")

    assert (ports.list_type, ports.list_keys, ports.patch_key) == (
        "map",
        ("containerPort", "protocol"),
        "containerPort",
    )
    assert (volumes.patch_strategies, volumes.patch_key) == (("merge", "retainKeys"), "name")
    assert at(pod, "metadata.finalizers").list_type == "set"
    assert at(pod, "spec.tolerations").list_type == "atomic"


def test_types_and_maps_that_are_one_value_say_so():
    assert at(facts.schema("", "v1", "Pod"), "spec.nodeSelector").is_atomic
    assert at(facts.schema("apps", "v1", "Deployment"), "spec.selector").is_atomic
    assert not at(facts.schema("", "v1", "Pod"), "metadata.labels").is_atomic


def test_defaults_are_those_of_openapi():
    container = at(facts.schema("", "v1", "Pod"), "spec.containers[]")

    assert at(container, "ports[].protocol").default == "TCP"
    assert container.child("resources").default == {}
    assert container.child("image").default is UNSET


def test_required_fields_of_inlined_types_count_as_the_type_s_own():
    pod = facts.schema("", "v1", "Pod")

    assert at(pod, "spec.containers[]").required == ("name",)
    assert at(pod, "spec.ephemeralContainers[]").required == ("name",)


def test_a_json_schema_leads_back_to_itself():
    crd = facts.schema("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    root = at(crd, "spec.versions[].schema.openAPIV3Schema")

    assert root.child("properties").child("spec").properties is root.properties
    assert root.child("items").child("pattern").type == "string"
    assert root.child("default").keeps_unknown


def test_a_schema_is_built_once():
    assert facts.schema("", "v1", "Pod") is facts.schema("", "v1", "Pod")

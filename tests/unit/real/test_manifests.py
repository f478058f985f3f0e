"""Objects on their way to a cluster: where they go and in which order."""

import pytest

from fleetqueue.lab.errors import EngineError
from fleetqueue.real import manifests
from fleetqueue.real.cluster_api import collection_path, in_order, message, object_path, plural


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Namespace", "namespaces"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("CustomResourceDefinition", "customresourcedefinitions"),
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    ],
)
def test_the_resource_of_a_kind(kind, expected):
    assert plural(kind) == expected


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, "/api/v1/nodes/n", id="core, for all"
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "x"}},
            "/api/v1/namespaces/x/secrets/s",
            id="core, in a namespace",
        ),
        pytest.param(
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}},
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/r",
            id="a group",
        ),
    ],
)
def test_the_path_of_an_object(manifest, expected):
    assert object_path(manifest) == expected
    assert object_path(manifest).startswith(collection_path(manifest))


def test_namespaces_come_first_and_then_definitions():
    kinds = ["Role", "CustomResourceDefinition", "Namespace", "ClusterRole"]

    groups = in_order({"kind": kind} for kind in kinds)

    assert [[item["kind"] for item in group] for group in groups] == [
        ["Namespace"],
        ["CustomResourceDefinition"],
        ["Role", "ClusterRole"],
    ]


def test_definitions_are_collected_from_the_folders_of_a_module(tmp_path):
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "a.crd.yaml").write_text("kind: CustomResourceDefinition\n---\nkind: Other\n---\n")

    assert manifests.crds(tmp_path, ["*/*.crd.yaml"]) == [{"kind": "CustomResourceDefinition"}]


def test_a_folder_without_one_of_the_definitions_is_an_error(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: CustomResourceDefinition\n")

    with pytest.raises(EngineError, match=r"has no file b\*\.yaml; engine/parts\.py names the wrong folder"):
        manifests.crds(tmp_path, ["a.yaml", "b*.yaml"])


def test_a_definition_is_served_without_prose_pods_and_its_operators_conversion():
    schema = {
        "description": "prose",
        "properties": {
            "description": {"type": "string", "description": "prose"},
            "podSpec": {"properties": {"containers": {}, "initContainers": {}}, "required": ["containers"]},
        },
        "x-kubernetes-validations": [{"rule": "self.x"}],
    }
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {}}}

    made = manifests.light({"kind": "C", "spec": {"group": "g", "versions": [version], "conversion": conversion}})

    bare = {
        "properties": {
            "description": {"type": "string"},
            "podSpec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
        "x-kubernetes-validations": [{"rule": "self.x"}],
    }
    assert made["spec"]["versions"] == [version | {"schema": {"openAPIV3Schema": bare}}]
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["spec"]["group"] == "g"


def test_what_is_written_is_read_again(tmp_path):
    manifests.write(tmp_path / "list.json", [{"kind": "A"}])

    assert manifests.read(tmp_path / "list.json") == [{"kind": "A"}]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(b'{"message": "no"}', "no", id="a Status"),
        pytest.param(b"<html>", "<html>", id="no JSON"),
        pytest.param(b"[1]", "[1]", id="no Status"),
    ],
)
def test_what_an_answer_says(body, expected):
    assert message(body) == expected

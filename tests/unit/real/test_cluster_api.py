"""Objects on their way to a cluster: where they go and in which order."""

import pytest

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

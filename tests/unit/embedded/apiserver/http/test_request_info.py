"""What a request asks for."""

import pytest

from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.http.request_info import request_info


def asked(line, **query):
    method, path = line.split()
    info = request_info(method, path, query)
    return info.verb, info.group, info.version, info.namespace, info.resource, info.name, info.subresource


@pytest.mark.parametrize(
    ("line", "query", "expected"),
    [
        ("GET /api/v1/pods", {}, ("list", "", "v1", "", "pods", "", "")),
        ("GET /api/v1/namespaces/ns/pods", {"watch": "true"}, ("watch", "", "v1", "ns", "pods", "", "")),
        ("GET /api/v1/namespaces/ns/pods", {"watch": "0"}, ("list", "", "v1", "ns", "pods", "", "")),
        ("GET /api/v1/namespaces/ns/pods/p", {}, ("get", "", "v1", "ns", "pods", "p", "")),
        ("PUT /api/v1/namespaces/ns/pods/p/status", {}, ("update", "", "v1", "ns", "pods", "p", "status")),
        ("POST /apis/batch/v1/namespaces/ns/jobs", {}, ("create", "batch", "v1", "ns", "jobs", "", "")),
        ("PATCH /apis/batch/v1/namespaces/ns/jobs/j", {}, ("patch", "batch", "v1", "ns", "jobs", "j", "")),
        ("DELETE /apis/batch/v1/namespaces/ns/jobs/j", {}, ("delete", "batch", "v1", "ns", "jobs", "j", "")),
        ("DELETE /apis/batch/v1/namespaces/ns/jobs", {}, ("deletecollection", "batch", "v1", "ns", "jobs", "", "")),
        ("GET /api/v1/namespaces", {}, ("list", "", "v1", "", "namespaces", "", "")),
        ("GET /api/v1/namespaces/ns", {}, ("get", "", "v1", "ns", "namespaces", "ns", "")),
        ("PUT /api/v1/namespaces/ns/finalize", {}, ("update", "", "v1", "ns", "namespaces", "ns", "finalize")),
        ("GET /api/v1/watch/namespaces/ns/pods", {}, ("watch", "", "v1", "ns", "pods", "", "")),
        ("GET /api/v1/watch/namespaces/ns/pods/p", {}, ("watch", "", "v1", "ns", "pods", "p", "")),
        ("GET /api/v1/pods", {"fieldSelector": "metadata.name=p"}, ("list", "", "v1", "", "pods", "p", "")),
        ("GET /api/v1/pods", {"fieldSelector": "metadata.name!=p"}, ("list", "", "v1", "", "pods", "", "")),
        ("GET /api/v1/pods", {"fieldSelector": "nonsense"}, ("list", "", "v1", "", "pods", "", "")),
        ("GET /api/v1/pods/", {}, ("list", "", "v1", "", "pods", "", "")),
    ],
)
def test_a_resource_is_asked_for(line, query, expected):
    assert asked(line, **query) == expected


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis", "/apis/batch", "/apis/batch/v1", "/healthz", "/a/b/c"]
)
def test_other_paths_are_for_no_resource(path):
    info = request_info("GET", path, {})

    assert (info.is_resource, info.verb, info.path) == (False, "get", path)


def test_what_roles_are_asked():
    user = User("alice")

    asked = request_info("PATCH", "/apis/batch/v1/namespaces/ns/jobs/j/status", {}).attributes(user)
    path = request_info("GET", "/metrics", {}).attributes(user)

    assert (asked.verb, asked.full_resource, asked.name, asked.namespace) == ("patch", "jobs/status", "j", "ns")
    assert (path.verb, path.path, path.resource) == ("get", "/metrics", "")

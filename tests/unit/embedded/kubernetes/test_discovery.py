"""The cluster itself says which kinds it serves."""

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.kubernetes.discovery import discover

pytestmark = pytest.mark.virtual_time

GROUP = {
    "name": "example.com",
    "versions": [{"version": "v2"}, {"version": "v1"}],
    "preferredVersion": {"version": "v2"},
}


def listed(*names):
    return {"resources": [{"name": n, "kind": n, "namespaced": True, "verbs": ["list"]} for n in names]}


class Documents:
    """A client that knows some documents."""

    def __init__(self, **documents):
        self.documents = {
            "/apis": {"groups": [GROUP]},
            "/api/v1": listed("pods", "pods/status"),
            **{path.replace("__", "/"): document for path, document in documents.items()},
        }

    async def read(self, path):
        if path not in self.documents:
            raise errors.NotFound("not found")
        return self.documents[path]


async def test_each_kind_is_found_once_in_its_preferred_version_if_it_has_that():
    found = await discover(
        Documents(**{"/apis/example.com/v2": listed("new", "both"), "/apis/example.com/v1": listed("both", "old")})
    )

    names = [(kind.resource.version, kind.resource.plural) for kind in found.kinds]
    assert names == [("v1", "pods"), ("v2", "new"), ("v2", "both"), ("v1", "old")]
    assert found.failures == []


async def test_a_version_that_does_not_answer_does_not_hide_the_others():
    found = await discover(Documents(**{"/apis/example.com/v1": listed("old")}))

    assert [kind.resource.plural for kind in found.kinds] == ["pods", "old"]
    assert found.failures == ["/apis/example.com/v2: not found"]


async def test_our_own_server_is_understood(env):
    found = await discover(env.client)

    by_name = {str(kind.resource): kind for kind in found.kinds}
    assert by_name["jobs.batch"].can("delete", "list", "watch")
    assert not by_name["tokenreviews.authentication.k8s.io"].can("list")
    assert not by_name["nodes"].resource.namespaced

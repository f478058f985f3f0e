"""Keys: put together, taken apart, and what kind they belong to."""

import pytest

from fleetqueue.embedded.apiserver.storage import keys


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        pytest.param(("", "pods", "ns", "a"), "/core/pods/ns/a", id="core group"),
        pytest.param(("apps", "deployments", "ns", "a"), "/apps/deployments/ns/a", id="named group"),
        pytest.param(("", "nodes", "", "a"), "/core/nodes/a", id="without namespace"),
        pytest.param(("rbac", "roles", "ns", "system:a"), "/rbac/roles/ns/system:a", id="a name with a colon"),
    ],
)
def test_a_key_is_made_of_its_parts(parts, key):
    assert keys.key_of(*parts) == key
    assert keys.parts_of(key) == parts
    assert key.startswith(keys.prefix_of(*parts[:3]))


@pytest.mark.parametrize(
    ("prefix", "collection"),
    [
        pytest.param("/core/pods/ns/a", "/core/pods/", id="an object"),
        pytest.param("/core/pods/ns/", "/core/pods/", id="a namespace"),
        pytest.param("/core/pods/", "/core/pods/", id="a kind"),
        pytest.param("/core/pods", "", id="not a whole kind"),
        pytest.param("/core/", "", id="a group"),
        pytest.param("/", "", id="everything"),
    ],
)
def test_a_prefix_names_its_kind_or_none(prefix, collection):
    assert keys.collection_of(prefix) == collection

"""One cluster's API, asked by our own client through the door without sockets."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Namespace
from fleetqueue.runtime.informer import Informer
from fleetqueue.testing.virtual_time import settle

pytestmark = pytest.mark.virtual_time


async def test_a_cluster_begins_with_its_namespaces(client):
    page = await client.list(Namespace.resource)

    names = [item["metadata"]["name"] for item in page.items]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_an_object_is_made_read_changed_and_deleted(client):
    await client.create(ConfigMap.resource, ConfigMap.manifest("a", "default", data={"k": "1"}))
    await client.merge(ConfigMap.resource, "a", "default", {"data": {"k": "2"}})
    await client.apply(ConfigMap.resource, ConfigMap.manifest("a", "default", data={"more": "x"}))
    found = await client.get(ConfigMap.resource, "a", "default")
    await client.delete(ConfigMap.resource, "a", "default")

    assert found["data"] == {"k": "2", "more": "x"}
    with pytest.raises(errors.NotFound, match='configmaps "a" not found'):
        await client.get(ConfigMap.resource, "a", "default")


async def test_the_status_is_an_endpoint_of_its_own(client):
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    await client.create(Job.resource, Job.manifest("j", "default", spec={"suspend": True, "template": {"spec": pod}}))

    after = await client.merge(Job.resource, "j", "default", {"status": {"active": 1}}, subresource="status")

    assert (after["status"]["active"], after["metadata"]["generation"]) == (1, 1)


async def test_a_namespace_must_exist(client):
    with pytest.raises(errors.NotFound, match='namespaces "nowhere" not found'):
        await client.create(ConfigMap.resource, ConfigMap.manifest("a", "nowhere"))


async def test_three_namespaces_are_never_deleted(client):
    with pytest.raises(errors.Forbidden, match="this namespace may not be deleted"):
        await client.delete(Namespace.resource, "default")


async def test_who_has_no_role_may_look_around_only(alice):
    assert (await alice.read("/version"))["minor"] == "36"
    assert (await alice.read("/apis"))["kind"] == "APIGroupList"

    with pytest.raises(errors.Forbidden, match='User "alice" cannot list resource "namespaces"'):
        await alice.list(Namespace.resource)


async def test_a_role_holds_from_the_moment_it_is_bound(client, alice):
    role = {"verbs": ["list"], "apiGroups": [""], "resources": ["namespaces"]}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
    path = "/apis/rbac.authorization.k8s.io/v1"
    await client.post(
        f"{path}/clusterroles", {**kind, "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [role]}
    )
    binding = {**kind, "kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": reference}
    await client.post(f"{path}/clusterrolebindings", {**binding, "subjects": [subject]})

    assert await alice.list(Namespace.resource)


async def test_one_may_ask_what_one_may(alice):
    asked = {"resourceAttributes": {"verb": "list", "resource": "pods"}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    review = await alice.post(path, {"spec": asked})

    assert review["status"] == {"allowed": False}


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/api/v1/nothing", errors.NotFound),
        ("/apis/nobody.io/v1/things", errors.NotFound),
        ("/api/v1/namespaces/default/configmaps/a/status", errors.NotFound),
        ("/api/v1/namespaces/default/nodes", errors.NotFound),
        ("/nowhere", errors.NotFound),
    ],
)
async def test_what_is_not_served(client, path, error):
    with pytest.raises(error, match="the server could not find the requested resource"):
        await client.read(path)


async def test_an_informer_follows(client):
    informer = Informer(client, ConfigMap)
    following = asyncio.create_task(informer.run())
    await informer.synced.wait()

    await client.create(ConfigMap.resource, ConfigMap.manifest("a", "default", data={"k": "1"}))
    await settle()
    seen = informer.store.get("default/a")
    await client.delete(ConfigMap.resource, "a", "default")
    await settle()

    assert seen is not None
    assert informer.store.get("default/a") is None
    following.cancel()

"""An API that a part of the process serves: it is found, asked and refused as one behind an APIService is."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.http.discovery_listing import AGGREGATED_KIND
from fleetqueue.testing.virtual_time import advance, running
from tests.unit.embedded.apiserver.custom_objects import CRDS, definition
from tests.unit.embedded.apiserver.queue_api import API_SERVICES, GROUP, queue_api, register

pytestmark = pytest.mark.virtual_time

LINE = f"/apis/{GROUP}/v1/queues/q/line"


@pytest.fixture
async def registered(server, client):
    await register(client)
    return server.api_services


async def groups(client):
    return {group["name"]: group for group in (await client.read("/apis"))["groups"]}


async def test_who_serves_it_is_asked_with_the_query(registered, server, client):
    with registered.serving(queue_api()):
        answer = await server.answer("GET", LINE, {"limit": "3"}, credentials=RequestCredentials(token="admin"))

    assert answer.status == 200
    assert answer.body["asked"] == ["get", "v1", "queues", "line", "", "q"]
    assert answer.body["query"] == {"limit": "3"}


async def test_a_collection_in_a_namespace_is_asked_for_too(registered, client):
    with registered.serving(queue_api()):
        answer = await client.read(f"/apis/{GROUP}/v1/namespaces/default/tickets")

    assert answer["asked"] == ["list", "v1", "tickets", "", "default", ""]


async def test_what_it_refuses_is_refused(registered, client):
    with registered.serving(queue_api()), pytest.raises(errors.NotFound, match='queue "missing" not found'):
        await client.read(f"/apis/{GROUP}/v1/queues/missing/line")


async def test_of_two_that_serve_it_the_newer_answers(registered, client):
    with registered.serving(queue_api("old")):
        with registered.serving(queue_api("new")):
            together = await client.read(LINE)
        alone = await client.read(LINE)

    assert (together["said"], alone["said"]) == ("new", "old")


async def test_the_newer_goes_on_when_the_older_ends(registered, client):
    old, new = registered.serving(queue_api("old")), registered.serving(queue_api("new"))
    with old:
        new.__enter__()
    answer = await client.read(LINE)

    assert answer["said"] == "new"


@pytest.mark.parametrize("path", [LINE, f"/apis/{GROUP}/v1"])
async def test_while_nobody_serves_it_the_service_is_unavailable(registered, server, path):
    answer = await server.answer("GET", path, {}, credentials=RequestCredentials(token="admin"))

    assert (answer.status, answer.body) == (503, "service unavailable\n")


async def test_without_an_api_service_it_is_not_there(server, client):
    with server.api_services.serving(queue_api()), pytest.raises(errors.NotFound):
        await client.read(LINE)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(f"/apis/{GROUP}/v1/queues/q", id="a resource without verbs"),
        pytest.param(f"/apis/{GROUP}/v1/queues", id="its collection"),
        pytest.param(f"/apis/{GROUP}/v1/nothing", id="no resource"),
        pytest.param(f"{LINE}/more", id="something behind the subresource"),
        pytest.param(f"/apis/{GROUP}/v1/queues/q/other", id="another subresource"),
        pytest.param(f"/apis/{GROUP}/v1/namespaces/default/queues/q/line", id="in a namespace, and has none"),
        pytest.param(f"/apis/{GROUP}/v1/tickets/t", id="in no namespace, and has one"),
        pytest.param(f"/apis/{GROUP}/v2/queues/q/line", id="another version"),
    ],
)
async def test_what_it_does_not_serve_is_not_found(registered, client, path):
    with registered.serving(queue_api()), pytest.raises(errors.NotFound, match="could not find the requested resource"):
        await client.read(path)


async def test_a_verb_that_it_does_not_have_is_not_allowed(registered, client):
    with registered.serving(queue_api()), pytest.raises(errors.ApiError) as refused:
        await client.post(LINE, {})

    assert refused.value.code == 405


async def test_only_who_has_the_right_may_ask(registered, client, alice):
    rule = {"apiGroups": [GROUP], "resources": ["queues/line"], "verbs": ["get"]}
    with registered.serving(queue_api()):
        with pytest.raises(errors.Forbidden) as refused:
            await alice.read(LINE)
        await client.create(ClusterRole.resource, ClusterRole.manifest("reader", rules=[rule]))
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
        binding = ClusterRoleBinding.manifest("reader", roleRef=reference, subjects=[subject])
        await client.create(ClusterRoleBinding.resource, binding)
        answer = await alice.read(LINE)

    assert refused.value.message == (
        f'queues.{GROUP} "q" is forbidden: User "alice" cannot get resource "queues/line" in API group "{GROUP}" '
        "at the cluster scope"
    )
    assert answer["kind"] == "Line"


async def test_its_group_comes_last_with_its_newest_version_first(server, client):
    await register(client, "v1beta1", "v1beta2")

    listed = await groups(client)

    assert list(listed)[-1] == GROUP
    assert listed[GROUP]["preferredVersion"]["version"] == "v1beta2"
    assert [version["version"] for version in listed[GROUP]["versions"]] == ["v1beta2", "v1beta1"]


async def test_its_resources_are_told_while_it_is_served(registered, client):
    with registered.serving(queue_api()):
        document = await client.read(f"/apis/{GROUP}/v1")

    assert document["resources"] == [
        {"name": "queues", "singularName": "queue", "namespaced": False, "kind": "Line", "verbs": []},
        {"name": "queues/line", "singularName": "", "namespaced": False, "kind": "Line", "verbs": ["get"]},
        {"name": "tickets", "singularName": "ticket", "namespaced": True, "kind": "Ticket", "verbs": ["get", "list"]},
    ]


async def test_the_one_document_of_all_groups_says_when_nobody_serves_it(registered, server):
    def shown():
        return server.handler.non_resource_paths.discovery.aggregated("/apis")["items"][-1]

    alone = shown()
    with registered.serving(queue_api()):
        (version,) = shown()["versions"]

    kind = {"group": "", "version": "", "kind": "Line"}
    assert alone == {"metadata": {"name": GROUP}, "versions": [{"version": "v1", "freshness": "Stale"}]}
    assert version["freshness"] == "Current"
    assert version["resources"][0]["subresources"] == [
        {"subresource": "line", "responseKind": kind, "verbs": ["get"]},
    ]


async def test_it_goes_with_its_api_service(registered, client):
    await client.delete(API_SERVICES, f"v1.{GROUP}")

    with registered.serving(queue_api()), pytest.raises(errors.NotFound):
        await client.read(LINE)
    assert GROUP not in await groups(client)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"group": "apps", "version": "v1"}, id="a group that is built in"),
        pytest.param({"version": "v1"}, id="the core"),
        pytest.param({"group": "authorization.k8s.io", "version": "v1"}, id="a group of reviews"),
        pytest.param({"group": "test.io", "version": "v1"}, id="a group of a definition"),
        pytest.param({}, id="no group and no version"),
    ],
)
async def test_what_the_server_serves_itself_nobody_can_take_from_it(server, client, spec):
    async with running(server.run()):
        await client.create(CRDS, definition())
        await advance(1)
        before = await groups(client)
        spec = {**spec, "service": {"name": "queue-server", "namespace": "default"}}
        await client.create(API_SERVICES, {"metadata": {"name": "taken"}, "spec": spec})
        await advance(1)

        assert await groups(client) == before
        assert await client.read("/healthz") == "ok"
        for path in ("/api/v1/namespaces", "/apis/apps/v1/deployments", "/apis/test.io/v1/widgets"):
            assert (await client.read(path))["items"] is not None


async def test_an_api_service_that_is_not_whole_hurts_nobody(server, client):
    odd = {"metadata": {"name": "v1.odd"}, "spec": {"group": "odd", "version": "v1", "service": {"name": "s"}}}
    await client.create(API_SERVICES, odd)
    await client.create(API_SERVICES, {"metadata": {"name": "v1.empty"}})

    assert "odd" in await groups(client)
    assert AGGREGATED_KIND in server.handler.non_resource_paths.discovery.aggregated("/apis")["kind"]

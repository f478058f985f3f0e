"""The client `kr8s` against an embedded cluster and a real one."""

import asyncio
import contextlib
import json

import httpx
import kr8s
import pytest
from kr8s.asyncio.objects import ConfigMap, CustomResourceDefinition, Node, RoleBinding, ServiceAccount, new_class

from .kinds import config_map, definition, may_view, node, widget

GROUP = "kr8s.test.io"
Widget = new_class("Widget", version=f"{GROUP}/v1", namespaced=True)
LIMIT_SECONDS = 120  # as `eventually` waits, and for the same reason

# It says so of every server that is newer than itself.
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning")


@pytest.fixture
async def api(cluster):
    api = await kr8s.asyncio.api(kubeconfig=str(cluster.kubeconfig))
    yield api
    await api._session.aclose()


@pytest.fixture
async def space(api):
    """A namespace of the test's own."""
    made = await post(api, "namespaces", {"metadata": {"generateName": "t-"}})
    name = made["metadata"]["name"]
    yield name
    async with api.call_api("DELETE", url=f"namespaces/{name}"):
        pass


async def post(api, url, body, **options):
    async with api.call_api("POST", url=url, content=json.dumps(body), **options) as answer:
        return answer.json()


async def names(api, space, **options):
    found = [item.name async for item in api.get("configmaps", namespace=space, **options)]
    return [name for name in found if name != "kube-root-ca.crt"]


def a_map(api, space):
    """Make ConfigMaps that are not there yet: `await a_map(api, space)("a", k="1").create()`."""
    return lambda *args, **options: ConfigMap(config_map(*args, **options), namespace=space, api=api)


# Objects


async def test_an_object_is_made_read_and_deleted(api, space):
    made = a_map(api, space)("a", k="1")
    await made.create()
    found = await ConfigMap.get("a", namespace=space, api=api)
    await found.label({"a": "b"})
    await found.annotate(x="y")
    await found.label("a-")
    await made.refresh()
    await made.delete()

    assert found.raw.data == {"k": "1"}
    assert (made.labels, made.annotations) == ({}, {"x": "y"})
    assert not await made.exists()
    with pytest.raises(kr8s.NotFoundError):
        await made.refresh()


async def test_patches(api, space):
    made = a_map(api, space)("a", k="1")
    await made.create()

    await made.patch({"data": {"more": "2"}})
    await made.patch([{"op": "remove", "path": "/data/k"}], type="json")

    assert made.raw.data == {"more": "2"}


async def test_a_list_comes_in_pages_and_by_selectors(api, space):
    create = a_map(api, space)
    for number in range(130):  # a page of this client has a hundred
        await create(f"c{number:03}", labels={"odd": str(number % 2)}).create()

    assert await names(api, space) == [f"c{number:03}" for number in range(130)]
    assert len(await names(api, space, label_selector={"odd": "1"})) == 65
    assert await names(api, space, field_selector="metadata.name=c003") == ["c003"]


async def test_apply_on_the_server_keeps_owners_apart(api, space):
    async def apply(manager, **data):
        headers = {"Content-Type": "application/apply-patch+yaml"}
        options = {"headers": headers, "params": {"fieldManager": manager}}
        content = json.dumps(config_map("a", **data))
        async with api.call_api("PATCH", namespace=space, url="configmaps/a", content=content, **options) as answer:
            return answer.json()

    first = await apply("one", k="1", mine="1")
    again = await apply("one", k="1", mine="1")
    await apply("two", other="2")
    with pytest.raises(kr8s.ServerError, match='conflict with "one"') as refused:
        await apply("two", k="2", other="2")
    dropped = await apply("one", k="1")

    assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
    assert refused.value.status["details"]["causes"][0]["field"] == ".data.k"
    assert dropped["data"] == {"k": "1", "other": "2"}


async def test_the_status_is_a_part_of_its_own(api):
    made = Node(node("kr8s"), api=api)
    await made.create()
    try:
        await made.patch({"status": {"capacity": {"gpu.io/a": "4"}}}, subresource="status")
        await made.patch({"status": {"capacity": {"gpu.io/a": "8"}}})
    finally:
        await made.delete()

    assert made.status.capacity == {"gpu.io/a": "4"}


@pytest.mark.parametrize(("policy", "survives"), [("Foreground", False), ("Background", False), ("Orphan", True)])
async def test_deleting_decides_what_becomes_of_dependents(api, space, policy, survives):
    owner, child = a_map(api, space)("owner"), a_map(api, space)("child")
    await owner.create()
    await child.create()
    await child.set_owner(owner)

    await owner.delete(propagation_policy=policy)

    await owner.wait("delete", timeout=LIMIT_SECONDS)
    if survives:
        assert await child.exists()
    else:
        await child.wait("delete", timeout=LIMIT_SECONDS)


# Custom kinds


@pytest.fixture
async def widgets(api):
    """A custom kind that this client makes."""
    made = CustomResourceDefinition(definition(GROUP), api=api)
    await made.create()
    await made.wait("jsonpath='{.status.acceptedNames.kind}'=Widget", timeout=LIMIT_SECONDS)  # until then it has null
    await made.wait("condition=Established", timeout=LIMIT_SECONDS)
    yield
    await made.delete()
    await made.wait("delete", timeout=LIMIT_SECONDS)


async def test_a_custom_kind_lives_as_any_other(api, widgets, space):
    made = Widget(widget(GROUP, "w", size=1), namespace=space, api=api)
    await made.create()
    color = made.spec.color
    await made.patch({"status": {"ready": True}}, subresource="status")
    await made.patch({"spec": {"size": 2}, "status": {"ready": False}})
    bad = Widget(widget(GROUP, "v", size=0), namespace=space, api=api)
    with pytest.raises(kr8s.ServerError) as invalid:
        await bad.create()
    listed = [(item.spec.size, item.status.ready) async for item in api.get(Widget, namespace=space)]

    assert color == "red"
    assert listed == [(2, True)]
    assert invalid.value.status["details"]["causes"][0]["field"] == "spec.size"
    assert (await api.lookup_kind("widget"))[1:] == ("widgets", True)


# Errors


async def test_refusals_are_exceptions_with_the_status_of_the_server(api, space):
    create = a_map(api, space)
    await create("a").create()

    with pytest.raises(kr8s.ServerError) as taken:
        await create("a").create()
    with pytest.raises(kr8s.ServerError) as invalid:
        await create("Not A Name").create()
    with pytest.raises(kr8s.ServerError) as malformed:
        await names(api, space, label_selector="a in")
    with pytest.raises(kr8s.NotFoundError):
        await create("nothing").delete()

    assert [(error.value.status["code"], error.value.status["reason"]) for error in (taken, invalid, malformed)] == [
        (409, "AlreadyExists"),
        (422, "Invalid"),
        (400, "BadRequest"),
    ]


async def test_a_service_account_is_known_by_its_token(api, space, with_token):
    await ServiceAccount({"metadata": {"name": "robot", "namespace": space}}, api=api).create()
    await RoleBinding(may_view("robot", space), api=api).create()
    request = {"spec": {"audiences": [], "expirationSeconds": 600}}
    answer = await post(api, "serviceaccounts/robot/token", request, namespace=space)

    robot = await kr8s.asyncio.api(kubeconfig=str(with_token(answer["status"]["token"])))
    listed = await names(robot, space)
    with pytest.raises(kr8s.ServerError, match="cannot create resource") as forbidden:
        await a_map(robot, space)("a").create()
    with_token("nonsense")  # into the same file, which this client reads again when it is refused
    with pytest.raises(kr8s.ServerError, match="Unauthorized"):
        await a_map(robot, space)("a").create()
    await robot._session.aclose()

    assert listed == []
    assert f"system:serviceaccount:{space}:robot" in forbidden.value.status["message"]
    assert await api.whoami() == "kubernetes-admin"


# Watches


async def follow(api, space, version, seen):
    """Watch until the last object has come; a stream that breaks is opened again after the last version."""
    while True:
        try:
            events = api.watch("configmaps", namespace=space, label_selector="followed", since=version)
            async with contextlib.aclosing(events):
                async for kind, item in events:
                    version = item.metadata.resourceVersion
                    seen.put_nowait((kind, item.name))
                    if item.name == "last":
                        return
        except httpx.TransportError:
            await asyncio.sleep(0.05)


async def test_a_watch_goes_on_across_a_restart(cluster, api, space):
    if not cluster.remembers:
        pytest.skip("after 410 this client asks for the same version again, for ever")
    create = a_map(api, space)
    before, first, last = (create(name, labels={"followed": "yes"}) for name in ("before", "first", "last"))
    await before.create()
    seen = asyncio.Queue()
    following = asyncio.create_task(follow(api, space, before.metadata.resourceVersion, seen))
    await first.create()
    event = await asyncio.wait_for(seen.get(), LIMIT_SECONDS)

    await asyncio.to_thread(cluster.restart)
    await first.patch({"data": {"k": "1"}})
    await before.delete()
    await last.create()
    await asyncio.wait_for(following, LIMIT_SECONDS)

    rest = [seen.get_nowait() for _ in range(seen.qsize())]
    assert [event, *rest] == [("ADDED", "first"), ("MODIFIED", "first"), ("DELETED", "before"), ("ADDED", "last")]


async def test_a_version_that_is_forgotten_is_gone(cluster, api, space):
    create = a_map(api, space)
    old = create("a")
    await old.create()
    await create("b").create()
    await asyncio.to_thread(cluster.forget)

    options = {"params": {"watch": "true", "resourceVersion": old.metadata.resourceVersion}, "timeout": 30}
    async with api.call_api("GET", namespace=space, url="configmaps", stream=True, **options) as answer:
        event = json.loads(await anext(answer.aiter_lines()))

    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")

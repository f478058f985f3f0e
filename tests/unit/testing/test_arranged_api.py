"""What a test can do to the API of a cluster: arrange, break, and look."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap, Node, Secret
from fleetqueue.client import Client
from fleetqueue.testing.virtual_time import advance, settle


@pytest.fixture
def client(api):
    return Client(api)


async def create(client, name="a", **data):
    return await client.create(ConfigMap.resource, ConfigMap.manifest(name, "ns", data=data))


async def test_writes_and_requests_are_recorded(api, client):
    await create(client)
    await client.merge(ConfigMap.resource, "a", "ns", {"data": {"x": "1"}})
    await client.apply(ConfigMap.resource, ConfigMap.manifest("a", "ns", data={"y": "1"}))
    await client.get(ConfigMap.resource, "a", "ns")
    await client.list(ConfigMap.resource)
    await client.delete(ConfigMap.resource, "a", "ns")
    with pytest.raises(errors.NotFound):
        await client.delete(ConfigMap.resource, "a", "ns")

    writes = [
        "create configmaps/ns/a",
        "patch configmaps/ns/a",
        "apply configmaps/ns/a",
        "delete configmaps/ns/a",
    ]
    assert api.writes == writes
    assert api.requests == [*writes[:3], "get configmaps/ns/a", "list configmaps", writes[3], writes[3]]


async def test_what_the_test_arranges_is_not_recorded_and_not_stopped(api, client):
    api.cut()

    api.add(ConfigMap.manifest("a", "ns", data={"x": "1"}))
    api.change(ConfigMap, "a", "ns", data={"y": "2"})
    api.apply_as("other", ConfigMap, "a", "ns", data={"z": "3"})
    api.add(Secret.manifest("s", "ns"))
    api.remove(Secret, "s", "ns")

    assert api.get(ConfigMap, "a", "ns").data == {"x": "1", "y": "2", "z": "3"}
    assert [obj.key for obj in api.list(ConfigMap)] == ["ns/a"]
    assert api.get(Secret, "s", "ns") is None
    assert (api.writes, api.requests) == ([], [])


async def test_a_fault_stops_a_request_before_it_does_anything(api, client):
    api.fail_on("create configmaps/ns/a", errors.ServerError("boom"))

    with pytest.raises(errors.ServerError, match="boom"):
        await create(client, "a")
    await create(client, "b")

    assert api.writes == ["create configmaps/ns/b"]
    assert api.get(ConfigMap, "a", "ns") is None


async def test_a_fault_may_come_after_the_deed(api, client):
    api.fail_on("create configmaps/*", errors.Unreachable("answer lost"), applied=True)

    with pytest.raises(errors.Unreachable, match="answer lost"):
        await create(client)

    assert api.writes == ["create configmaps/ns/a"]
    assert api.get(ConfigMap, "a", "ns") is not None


async def test_a_fault_may_happen_only_so_many_times(api, client):
    api.fail_on("get *", errors.Forbidden("no"), times=2)
    await create(client)

    for _ in range(2):
        with pytest.raises(errors.Forbidden):
            await client.get(ConfigMap.resource, "a", "ns")

    assert await client.get(ConfigMap.resource, "a", "ns")


async def test_healing_ends_all_faults(api, client):
    api.fail_on("*", errors.ServerError("boom"))
    api.cut()

    api.heal()

    assert await create(client)


async def test_a_cut_api_refuses_at_once_and_breaks_its_watches(api, client):
    async def watch():
        async with client.watch(ConfigMap.resource, query={}, silence=60) as events:
            async for _ in events:
                pass

    watching = asyncio.create_task(watch())
    await settle()

    api.cut()

    with pytest.raises(errors.Unreachable, match="connection refused"):
        await create(client)
    with pytest.raises(errors.Unreachable, match="connection reset"):
        await watching
    assert clock.monotonic() == 0


async def test_a_silent_api_never_answers(api, client):
    api.cut(silently=True)

    with pytest.raises(errors.Unreachable, match="timed out"):
        await create(client)

    assert clock.monotonic() == client.timeout


async def test_a_slow_api_takes_its_time(api, client):
    api.seconds_per_request = 3.0
    await create(client)
    took = clock.monotonic()
    api.seconds_per_request = 31.0

    with pytest.raises(errors.Unreachable, match="timed out"):
        await create(client, "b")

    assert took == 3.0
    assert api.get(ConfigMap, "b", "ns") is None


async def test_a_watch_ends_when_its_time_is_over_and_marks_the_minutes(api, client):
    events = []
    query = {"timeoutSeconds": "150", "allowWatchBookmarks": "true", "resourceVersion": api.revision}

    async with client.watch(ConfigMap.resource, query=query, silence=300) as stream:
        events = [(event.type, clock.monotonic()) async for event in stream]

    assert events == [("BOOKMARK", 60), ("BOOKMARK", 120), ("BOOKMARK", 148)]
    assert api.open_watches == 0


async def test_paths_that_store_nothing_are_answered_by_the_test(api, client):
    api.answers["GET /version"] = {"gitVersion": "v1.36.3"}
    api.answers["GET /livez"] = "ok"
    api.answers["POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] = lambda request: {
        "status": {"allowed": request.body["spec"] == "x"}
    }

    review = await client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": "x"})

    assert await client.read("/version") == {"gitVersion": "v1.36.3"}
    assert await client.read("/livez") == "ok"
    assert review == {"status": {"allowed": True}}
    assert api.writes == []


async def test_a_kind_that_is_not_served_cannot_be_arranged(api):
    with pytest.raises(LookupError, match="no kind Unknown of example/v1 is served here"):
        api.add({"apiVersion": "example/v1", "kind": "Unknown", "metadata": {"name": "x"}})


async def test_an_object_can_be_arranged_while_it_is_being_deleted(api):
    dying = ConfigMap.manifest("a", "ns")
    dying["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["test.dev/a"]}

    api.add(dying)

    assert api.get(ConfigMap, "a", "ns").is_deleting


async def test_an_object_is_arranged_with_its_status(api):
    api.add(Node.manifest("n", status={"allocatable": {"cpu": "8"}}))

    assert api.raw(Node, "n")["status"]["allocatable"] == {"cpu": "8"}


async def test_what_no_server_takes_cannot_be_arranged(api):
    with pytest.raises(errors.BadRequest, match="cannot unmarshal number"):
        api.add(ConfigMap.manifest("a", "ns", data={"x": 1}))
    with pytest.raises(ValueError, match="no client can choose its uid"):
        api.add({**ConfigMap.manifest("a", "ns"), "metadata": {"name": "a", "namespace": "ns", "uid": "mine"}})


async def test_the_end_of_watches_can_carry_an_error(api, client):
    async def watch():
        async with client.watch(ConfigMap.resource, query={"resourceVersion": api.revision}, silence=60) as events:
            return [event.type async for event in events]

    clean = asyncio.create_task(watch())
    await settle()
    api.end_watches()
    ended = await clean
    failing = asyncio.create_task(watch())
    await advance(1)
    api.end_watches(errors.ServerError("etcd is away"))

    assert ended == []
    with pytest.raises(errors.ServerError, match="etcd is away"):
        await failing

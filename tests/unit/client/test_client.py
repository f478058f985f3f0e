"""The verbs: which request each sends, and which error each failure becomes."""

from contextlib import nullcontext

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import ConfigMap, Pod, ServiceAccount
from fleetqueue.api.requests import APPLY_PATCH, MERGE_PATCH, Request, Response
from fleetqueue.client import Client


@pytest.fixture
def client(api):
    return Client(api)


class Recording:
    """A door that answers everything alike and keeps what was asked."""

    def __init__(self, body=None, status=200):
        self.answer = Response(status, {} if body is None else body)
        self.asked = []

    async def request(self, request, *, timeout):
        self.asked.append((request, timeout))
        return self.answer

    async def close(self):
        self.asked.append("closed")


class Busy(Recording):
    """Answers some times that it is asked too early, and then as told."""

    def __init__(self, times, seconds):
        super().__init__()
        self.refusals = [Response(429, {"details": {"retryAfterSeconds": seconds}})] * times

    async def request(self, request, *, timeout):
        answer = await super().request(request, timeout=timeout)
        return self.refusals.pop() if self.refusals else answer


async def asked_by(call):
    door = Recording()
    await call(Client(door))
    ((request, _),) = door.asked
    return request


MANIFEST = ConfigMap.manifest("c", "ns", data={"a": "1"})
PATH = "/api/v1/namespaces/ns/configmaps"
MANAGER = {"fieldManager": "fleetqueue"}
DRY = MANAGER | {"dryRun": "All"}
BACKGROUND = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}


@pytest.mark.parametrize(
    ("call", "request_"),
    [
        pytest.param(lambda c: c.get(ConfigMap.resource, "c", "ns"), Request("GET", f"{PATH}/c"), id="get"),
        pytest.param(
            lambda c: c.create(ConfigMap.resource, MANIFEST), Request("POST", PATH, MANAGER, MANIFEST), id="create"
        ),
        pytest.param(
            lambda c: c.create(ServiceAccount.resource, {"metadata": {"name": "sa", "namespace": "ns"}}, "token"),
            Request(
                "POST",
                "/api/v1/namespaces/ns/serviceaccounts/sa/token",
                MANAGER,
                {"metadata": {"name": "sa", "namespace": "ns"}},
            ),
            id="create a subresource",
        ),
        pytest.param(
            lambda c: c.merge(ConfigMap.resource, "c", "ns", {"data": None}),
            Request("PATCH", f"{PATH}/c", MANAGER, {"data": None}, MERGE_PATCH),
            id="merge",
        ),
        pytest.param(
            lambda c: c.strategic_merge(Pod.resource, "p", "ns", {"spec": {"containers": []}}, subresource="status"),
            Request(
                "PATCH",
                "/api/v1/namespaces/ns/pods/p/status",
                MANAGER,
                {"spec": {"containers": []}},
                "application/strategic-merge-patch+json",
            ),
            id="strategic merge",
        ),
        pytest.param(
            lambda c: c.apply(ConfigMap.resource, MANIFEST, subresource="status", manager="me"),
            Request("PATCH", f"{PATH}/c/status", {"fieldManager": "me", "force": "true"}, MANIFEST, APPLY_PATCH),
            id="apply",
        ),
        pytest.param(
            lambda c: c.delete(ConfigMap.resource, "c", "ns", uid="u", propagation="Foreground"),
            Request(
                "DELETE",
                f"{PATH}/c",
                {},
                {
                    "kind": "DeleteOptions",
                    "apiVersion": "v1",
                    "propagationPolicy": "Foreground",
                    "preconditions": {"uid": "u"},
                },
            ),
            id="delete",
        ),
        pytest.param(
            lambda c: c.delete(ConfigMap.resource, "c", "ns", version="7", grace=0),
            Request(
                "DELETE",
                f"{PATH}/c",
                {},
                {**BACKGROUND, "gracePeriodSeconds": 0, "preconditions": {"resourceVersion": "7"}},
            ),
            id="delete one version at once",
        ),
        pytest.param(
            lambda c: c.delete_collection(ConfigMap.resource, "ns", labels="a=b", fields="metadata.name=c", grace=5),
            Request(
                "DELETE",
                PATH,
                {"labelSelector": "a=b", "fieldSelector": "metadata.name=c"},
                {**BACKGROUND, "gracePeriodSeconds": 5},
            ),
            id="delete a collection",
        ),
        pytest.param(
            lambda c: c.update(ConfigMap.resource, MANIFEST),
            Request("PUT", f"{PATH}/c", MANAGER, MANIFEST),
            id="update",
        ),
        pytest.param(
            lambda c: c.update(ConfigMap.resource, MANIFEST, "finalize"),
            Request("PUT", f"{PATH}/c/finalize", MANAGER, MANIFEST),
            id="update a subresource",
        ),
        pytest.param(
            lambda c: c.apply(ConfigMap.resource, MANIFEST, force=False),
            Request("PATCH", f"{PATH}/c", MANAGER | {"force": "false"}, MANIFEST, APPLY_PATCH),
            id="apply without force",
        ),
        pytest.param(lambda c: c.read("/version"), Request("GET", "/version"), id="read"),
        pytest.param(lambda c: c.post("/apis/x", {"a": 1}), Request("POST", "/apis/x", {}, {"a": 1}), id="post"),
    ],
)
async def test_requests(call, request_):
    assert await asked_by(call) == request_


@pytest.mark.parametrize(
    ("call", "request_"),
    [
        pytest.param(
            lambda c: c.create(ConfigMap.resource, MANIFEST, dry_run=True),
            Request("POST", PATH, DRY, MANIFEST),
            id="create",
        ),
        pytest.param(
            lambda c: c.update(ConfigMap.resource, MANIFEST, dry_run=True),
            Request("PUT", f"{PATH}/c", DRY, MANIFEST),
            id="update",
        ),
        pytest.param(
            lambda c: c.merge(ConfigMap.resource, "c", "ns", {"data": None}, dry_run=True),
            Request("PATCH", f"{PATH}/c", DRY, {"data": None}, MERGE_PATCH),
            id="merge",
        ),
        pytest.param(
            lambda c: c.apply(ConfigMap.resource, MANIFEST, dry_run=True),
            Request("PATCH", f"{PATH}/c", DRY | {"force": "true"}, MANIFEST, APPLY_PATCH),
            id="apply",
        ),
        pytest.param(
            lambda c: c.delete(ConfigMap.resource, "c", "ns", dry_run=True),
            Request("DELETE", f"{PATH}/c", {"dryRun": "All"}, BACKGROUND),
            id="delete",
        ),
    ],
)
async def test_every_write_can_be_tried_dry(call, request_):
    assert await asked_by(call) == request_


async def test_a_client_writes_as_its_own_field_manager():
    door = Recording()
    client = Client(door, manager="kueue")

    await client.create(ConfigMap.resource, MANIFEST)
    await client.apply(ConfigMap.resource, MANIFEST, manager="kueue-admission")

    assert [request.query["fieldManager"] for request, _ in door.asked] == ["kueue", "kueue-admission"]


async def test_every_request_is_bounded_in_time():
    door = Recording()

    await Client(door, timeout=7).read("/version")

    assert door.asked[0][1] == 7


@pytest.mark.parametrize("body", ["<html>", ["a"], 5])
async def test_an_answer_that_is_no_object_is_a_server_error(body):
    with pytest.raises(errors.ServerError, match="GET /api/v1/namespaces/ns/configmaps/c answered no JSON object"):
        await Client(Recording(body)).get(ConfigMap.resource, "c", "ns")


async def test_a_failure_is_raised_as_its_error():
    status = {"message": "taken", "reason": "AlreadyExists"}

    with pytest.raises(errors.AlreadyExists, match="taken"):
        await Client(Recording(status, 409)).create(ConfigMap.resource, MANIFEST)


async def test_every_answer_is_observed_and_so_are_failures():
    seen = []
    for status in (200, 503):
        client = Client(Recording(status=status))
        client.observe = lambda request, code: seen.append((str(request), code))
        try:
            await client.read("/healthz")
        except errors.ServerError:
            pass

    assert seen == [("GET /healthz", 200), ("GET /healthz", 503)]


async def test_closing_closes_the_door():
    door = Recording()

    await Client(door).close()

    assert door.asked == ["closed"]


def config_maps(api, count, **labels):
    for number in range(count):
        api.add(ConfigMap.manifest(f"c{number:03}", "ns", labels=labels))


def forget(api):
    """Let something happen, and let all that was before it be forgotten."""
    api.change(ConfigMap, "c003", "ns", data={"changed": str(len(api.requests))})
    api.compact()


async def test_a_list_is_fetched_page_by_page(api, client):
    config_maps(api, 7)

    page = await client.list(ConfigMap.resource, limit=3)

    assert [item["metadata"]["name"] for item in page.items] == [f"c{number:03}" for number in range(7)]
    assert page.resource_version == api.revision
    assert api.requests == ["list configmaps"] * 3


async def test_what_changes_while_paging_is_not_seen(api, client):
    config_maps(api, 4)
    revision = api.revision
    client.observe = lambda request, status: api.change(
        ConfigMap, "c003", "ns", data={"changed": str(len(api.requests))}
    )

    page = await client.list(ConfigMap.resource, limit=2)

    assert all("data" not in item for item in page.items)
    assert page.resource_version == revision


async def test_a_list_that_took_too_long_starts_again_once(api, client):
    config_maps(api, 4)
    forgets = iter([lambda: forget(api)])
    client.observe = lambda request, status: next(forgets, lambda: None)()

    page = await client.list(ConfigMap.resource, limit=2)

    assert len(page.items) == 4
    assert len(api.requests) == 4


async def test_a_list_that_always_takes_too_long_is_given_up(api, client):
    config_maps(api, 4)
    client.observe = lambda request, status: forget(api)

    with pytest.raises(errors.Gone):
        await client.list(ConfigMap.resource, limit=2)


async def test_a_list_that_is_gone_at_once_is_not_tried_again(api, client):
    api.fail_on("list configmaps", errors.Gone("no", reason="Expired"))

    with pytest.raises(errors.Gone):
        await client.list(ConfigMap.resource)

    assert api.requests == ["list configmaps"]


async def test_a_list_can_be_narrowed(api, client):
    config_maps(api, 2, tier="a")
    api.add(ConfigMap.manifest("other", "ns", labels={"tier": "b"}), ConfigMap.manifest("c000", "elsewhere"))

    by_label = await client.list(ConfigMap.resource, labels="tier=b")
    by_field = await client.list(ConfigMap.resource, fields="metadata.name=c000")
    by_namespace = await client.list(ConfigMap.resource, "elsewhere")

    assert [len(page.items) for page in (by_label, by_field, by_namespace)] == [1, 2, 1]


async def test_a_list_whose_items_are_null_is_empty():
    page = await Client(Recording({"items": None, "metadata": {"resourceVersion": "5"}})).list(Lease.resource)

    assert (page.items, page.resource_version) == ([], "5")


async def watched(client, count, **query):
    events = []
    async with client.watch(
        kueue.Workload.resource, query={"allowWatchBookmarks": "true", **query}, silence=60
    ) as stream:
        async for event in stream:
            events.append((event.type, event.object["metadata"].get("name", "")))
            if len(events) == count:
                break
    return events


async def test_a_watch_gives_events(api, client):
    api.add(kueue.Workload.manifest("a", "ns"))
    since = api.revision
    api.change(kueue.Workload, "a", "ns", spec={"queueName": "q"})
    api.remove(kueue.Workload, "a", "ns")

    assert await watched(client, 2, resourceVersion=since) == [("MODIFIED", "a"), ("DELETED", "a")]


async def test_an_error_event_is_raised(api, client):
    since = api.revision
    api.add(kueue.Workload.manifest("a", "ns"), kueue.Workload.manifest("b", "ns"))
    api.compact()

    with pytest.raises(errors.Gone, match="too old"):
        await watched(client, 1, resourceVersion=since)


async def test_an_error_event_without_a_code_is_a_server_error(api, client):
    class Odd:
        status = 200

        async def lines(self):
            yield {"type": "ERROR", "object": {"message": "etcd is away"}}

    class OddDoor:
        def stream(self, request, *, silence):
            return nullcontext(Odd())

    with pytest.raises(errors.ServerError, match="etcd is away"):
        await watched(Client(OddDoor()), 1)


async def test_a_refused_watch_raises_its_error(api, client):
    api.fail_on("watch workloads", errors.Forbidden("not for you"))

    with pytest.raises(errors.Forbidden, match="not for you"):
        await watched(client, 1)


# A server with too much to do


@pytest.mark.virtual_time
async def test_a_read_waits_as_long_as_the_server_says_where_there_is_patience():
    client = Client(Busy(times=2, seconds=3))
    client.patience = 10.0

    assert await client.get(ConfigMap.resource, "c", "ns") == {}
    assert clock.monotonic() == 6


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("times", "seconds", "patience", "waited"),
    [
        pytest.param(1, 3, 0.0, 0, id="no patience"),
        pytest.param(4, 3, 10.0, 9, id="patience ends"),
        pytest.param(1, 0, 10.0, 0, id="the server says no time"),
    ],
)
async def test_a_read_is_refused_where_patience_is_not_enough(times, seconds, patience, waited):
    client = Client(Busy(times, seconds))
    client.patience = patience

    with pytest.raises(errors.TooManyRequests):
        await client.get(ConfigMap.resource, "c", "ns")
    assert clock.monotonic() == waited


async def test_a_write_is_not_sent_twice():
    client = Client(Busy(times=1, seconds=3))
    client.patience = 10.0

    with pytest.raises(errors.TooManyRequests):
        await client.create(ConfigMap.resource, MANIFEST)

"""The faults of `live_fleet`, as kr8s meets them: slow, 409, 429, 5xx, a broken connection, and watches that end."""

import json
import time

import httpx
import kr8s
import pytest
from kr8s.asyncio.objects import ConfigMap

from fleetqueue.api import errors

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.fleet(workers=1),
    # It says so of every server that is newer than itself.
    pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported:UserWarning"),
]
A_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}"


@pytest.fixture
async def api(live_fleet):
    api = await kr8s.asyncio.api(kubeconfig=str(live_fleet.hub.kubeconfig))
    yield api
    await api._session.aclose()


async def create(api, name):
    await ConfigMap({"metadata": {"name": name, "namespace": "default"}}, api=api).create()


async def code_of(request):
    """Make a request; return the code of its refusal."""
    with pytest.raises(kr8s.ServerError) as refused:
        await request
    return refused.value.response.status_code


async def test_kr8s_works_with_it_as_it_is(live_fleet, api):
    live_fleet.add(A_MAP)

    found = await ConfigMap.get("a", namespace="default", api=api)

    assert found.data == {"k": "v"}


@pytest.mark.parametrize(
    "error",
    [errors.Conflict("stale"), errors.TooManyRequests("busy"), errors.ServerError("down", code=503)],
    ids=lambda error: str(error.code),
)
async def test_requests_fail_as_often_as_asked_and_then_no_more(live_fleet, api, error):
    live_fleet.hub.fail_on("create configmaps/default/a", error, times=1)

    refused = await code_of(create(api, "a"))
    before = live_fleet.get("ConfigMap", "a")
    await create(api, "a")

    assert (refused, before) == (error.code, None)
    assert live_fleet.get("ConfigMap", "a") is not None


async def test_an_answer_can_be_lost_though_the_request_was_carried_out(live_fleet, api):
    live_fleet.hub.fail_on("create configmaps/*", errors.Unreachable("lost"), times=1, applied=True)

    with pytest.raises(httpx.TransportError):
        await create(api, "a")

    assert live_fleet.get("ConfigMap", "a") is not None


async def test_what_the_test_does_itself_is_not_stopped_by_faults(live_fleet, api):
    live_fleet.hub.fail_on("*", errors.ServerError("down"))
    live_fleet.add(A_MAP)

    assert await code_of(create(api, "b")) == 500
    live_fleet.heal()
    await create(api, "b")

    assert {one["metadata"]["name"] for one in live_fleet.list("ConfigMap", "default")} >= {"a", "b"}


async def test_requests_take_longer_until_the_way_is_healed(live_fleet, api):
    live_fleet.hub.seconds_per_request = 1.0
    began = time.monotonic()

    await create(api, "a")

    assert time.monotonic() - began >= 1.0
    live_fleet.heal("hub")
    assert live_fleet.hub.seconds_per_request == 0.0


@pytest.mark.parametrize(
    ("error", "last"),
    [pytest.param(None, None, id="cleanly"), pytest.param(errors.Gone("too old", reason="Expired"), 410, id="expired")],
)
async def test_an_open_watch_ends(live_fleet, api, error, last):
    live_fleet.add(A_MAP)
    options = {"params": {"watch": "true", "fieldSelector": "metadata.name=a"}, "timeout": 60}

    async with api.call_api("GET", namespace="default", url="configmaps", stream=True, **options) as answer:
        lines = answer.aiter_lines()
        added = json.loads(await anext(lines))
        live_fleet.hub.end_watches(error)
        rest = [json.loads(line) async for line in lines]

    assert added["type"] == "ADDED"
    assert [event["object"]["code"] for event in rest] == ([] if last is None else [last])


async def test_an_old_watch_must_list_again(live_fleet, api):
    live_fleet.add(A_MAP)
    old = live_fleet.get("ConfigMap", "a")["metadata"]["resourceVersion"]
    live_fleet.hub.change("ConfigMap", "a", data={"k": "w"})

    live_fleet.hub.compact()

    options = {"params": {"watch": "true", "resourceVersion": old}, "timeout": 60}
    async with api.call_api("GET", namespace="default", url="configmaps", stream=True, **options) as answer:
        event = json.loads(await anext(answer.aiter_lines()))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)

"""The logs of stand-ins: what follows from the status of a pod."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.requests import Request
from fleetqueue.embedded.apiserver.http.verbs.pod_logs import log_lines

MAIN = {"name": "main", "image": "sleep"}
STARTED, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z"
RUNNING = {"running": {"startedAt": STARTED}}
TERMINATED = {"terminated": {"startedAt": STARTED, "finishedAt": ENDED, "exitCode": 3}}
FIRST = "started sleep (a stand-in: nothing runs in it)"


def status(state, **more):
    return {
        "containerStatuses": [
            {"name": "main", "image": "sleep", "imageID": "", "ready": True, "restartCount": 0, "state": state, **more}
        ]
    }


def pod(state, **more):
    return {**Pod.manifest("p", "default", spec={"containers": [MAIN]}), "status": status(state, **more)}


@pytest.mark.parametrize(
    ("found", "is_previous", "lines"),
    [
        pytest.param(pod(RUNNING), False, [FIRST], id="it runs"),
        pytest.param(pod(TERMINATED), False, [FIRST, "ran for 30s", "ended with code 3"], id="it has ended"),
        pytest.param(
            pod(RUNNING, lastState=TERMINATED), True, [FIRST, "ran for 30s", "ended with code 3"], id="it ran before"
        ),
    ],
)
def test_a_stand_in_says_what_its_status_says(found, is_previous, lines):
    assert [line.text for line in log_lines(found, "main", is_previous=is_previous)] == lines


@pytest.mark.parametrize(
    ("found", "is_previous", "why"),
    [
        pytest.param(pod({}), False, 'container "main" in pod "p" is waiting to start: ContainerCreating', id="new"),
        pytest.param(pod({"waiting": {"reason": "ImagePull"}}), False, "waiting to start: ImagePull", id="it says why"),
        pytest.param(pod(RUNNING), True, 'previous terminated container "main" in pod "p" not found', id="no previous"),
    ],
)
def test_what_has_not_run_has_no_log(found, is_previous, why):
    with pytest.raises(errors.BadRequest, match=why):
        log_lines(found, "main", is_previous=is_previous)


@pytest.fixture
async def running(client):
    await client.create(Pod.resource, Pod.manifest("p", "default", spec={"containers": [MAIN], "nodeName": "n"}))
    await client.merge(Pod.resource, "p", "default", {"status": status(RUNNING)}, subresource="status")
    return client


async def read(client, **query):
    async with client.log(Pod.resource, "p", "default", query=query) as lines:
        return [line async for line in lines]


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        pytest.param({}, [FIRST, "ran for 30s", "ended with code 3"], id="all"),
        pytest.param({"container": "main", "tailLines": "1"}, ["ended with code 3"], id="the last one"),
        pytest.param({"sinceTime": ENDED}, ["ran for 30s", "ended with code 3"], id="since a time"),
        pytest.param({"tailLines": "1", "timestamps": "true"}, [f"{ENDED} ended with code 3"], id="with times"),
        pytest.param({"follow": "true"}, [FIRST, "ran for 30s", "ended with code 3"], id="followed after the end"),
    ],
)
async def test_options_choose_lines(running, query, lines):
    await running.merge(Pod.resource, "p", "default", {"status": status(TERMINATED)}, subresource="status")

    assert await read(running, **query) == lines


@pytest.mark.parametrize(
    ("query", "why"),
    [
        pytest.param({"container": "other"}, "container other is not valid for pod p", id="another container"),
        pytest.param({"tailLines": "x"}, "invalid syntax", id="no number"),
        pytest.param({"sinceTime": "yesterday"}, "no RFC 3339", id="no time"),
    ],
)
async def test_what_cannot_be_chosen_is_refused(running, query, why):
    with pytest.raises(errors.BadRequest, match=why):
        await read(running, **query)


async def test_of_several_containers_one_must_be_named(client):
    containers = [MAIN, {"name": "side", "image": "x"}]
    await client.create(Pod.resource, Pod.manifest("p", "default", spec={"containers": containers}))

    with pytest.raises(errors.BadRequest, match=r"must be specified for pod p, choose one of: \[main side\]"):
        await read(client)


async def test_who_follows_hears_of_the_end(running):
    following = asyncio.create_task(read(running, follow="true"))
    await asyncio.sleep(0)
    await running.merge(Pod.resource, "p", "default", {"status": status(TERMINATED)}, subresource="status")

    assert await following == [FIRST, "ran for 30s", "ended with code 3"]


async def test_who_follows_a_pod_that_is_deleted_is_done(running):
    following = asyncio.create_task(read(running, follow="true"))
    await asyncio.sleep(0)
    await running.delete(Pod.resource, "p", "default", grace=0)

    assert await following == [FIRST]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({}, id="once"),
        pytest.param({"follow": "true"}, id="followed"),
        pytest.param({"previous": "true"}, id="the run before"),
    ],
)
async def test_the_log_of_a_pod_without_a_node_is_empty(client, query):
    await client.create(Pod.resource, Pod.manifest("p", "default", spec={"containers": [MAIN]}))

    async with client.door.stream(Request("GET", Pod.resource.path("default", "p", "log"), query), silence=5) as log:
        assert (log.status, [line async for line in log.text()]) == (204, [])


async def test_a_container_that_a_pod_without_a_node_does_not_have_is_refused_all_the_same(client):
    await client.create(Pod.resource, Pod.manifest("p", "default", spec={"containers": [MAIN]}))

    with pytest.raises(errors.BadRequest, match="container other is not valid for pod p"):
        await read(client, container="other")

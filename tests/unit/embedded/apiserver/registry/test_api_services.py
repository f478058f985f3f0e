"""Whether an API of others is available, and who says so."""

import pytest

from fleetqueue.embedded.apiserver.registry.api_services import availability
from fleetqueue.testing.virtual_time import advance, running
from tests.unit.embedded.apiserver.queue_api import (
    API_SERVICES,
    GROUP,
    SERVICES,
    api_service,
    queue_api,
    register,
    service,
)

pytestmark = pytest.mark.virtual_time

NAME = f"v1.{GROUP}"


@pytest.mark.parametrize(
    ("spec", "found", "is_served", "status", "reason", "message"),
    [
        pytest.param({}, None, False, "True", "Local", "Local APIServices are always available", id="the server's own"),
        pytest.param(
            {"service": {"name": "s", "namespace": "n"}},
            None,
            True,
            "False",
            "ServiceNotFound",
            'service/s in "n" is not present',
            id="no Service",
        ),
        pytest.param(
            {"service": {"name": "s", "namespace": "n", "port": 8443}},
            service(443),
            True,
            "False",
            "ServicePortError",
            'service/s in "n" is not listening on port 8443',
            id="another port",
        ),
        pytest.param(
            {"service": {"name": "s", "namespace": "n"}},
            service(443),
            False,
            "False",
            "MissingEndpoints",
            'endpointslices for service/s in "n" have no addresses with port name "https"',
            id="nobody serves it",
        ),
        pytest.param(
            {"service": {"name": "s", "namespace": "n"}},
            service(443),
            True,
            "True",
            "Passed",
            "all checks passed",
            id="served",
        ),
    ],
)
def test_availability(spec, found, is_served, status, reason, message):
    condition = availability(spec, found, is_served=is_served)

    assert condition == {"type": "Available", "status": status, "reason": reason, "message": message}


async def said(client, name=NAME):
    (condition,) = (await client.get(API_SERVICES, name))["status"]["conditions"]
    return condition["reason"], condition["lastTransitionTime"]


async def test_it_is_said_when_the_service_comes_when_it_is_served_and_when_not(server, client):
    heard = []
    async with running(server.run()):
        await client.create(API_SERVICES, api_service())
        await advance(10)
        heard.append(await said(client))
        await client.create(SERVICES, service())
        await advance(10)
        heard.append(await said(client))
        with server.api_services.serving(queue_api()):
            await advance(10)
            heard.append(await said(client))
        await advance(10)
        heard.append(await said(client))

    reasons, times = zip(*heard, strict=True)
    assert reasons == ("ServiceNotFound", "MissingEndpoints", "Passed", "MissingEndpoints")
    assert times[0] == times[1] < times[2] < times[3]


async def test_it_is_said_once(server, client):
    await register(client)
    async with running(server.run()):
        with server.api_services.serving(queue_api()):
            await advance(10)
            before = (await client.get(API_SERVICES, NAME))["metadata"]["resourceVersion"]
            await client.create(SERVICES, {**service(), "metadata": {"name": "other", "namespace": "default"}})
            await advance(10)
            after = (await client.get(API_SERVICES, NAME))["metadata"]["resourceVersion"]

    assert before == after


async def test_an_api_of_the_server_itself_is_available(server, client):
    async with running(server.run()):
        await client.create(API_SERVICES, {**api_service("v1", "apps"), "spec": {"group": "apps", "version": "v1"}})
        await advance(1)
        reason, _ = await said(client, "v1.apps")

    assert reason == "Local"

"""What pods tell that are parts of this process, asked by the server's proxy."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod

PATHS = {"/metrics": lambda: "up 1\n"}


@pytest.fixture
async def pod(client):
    spec = {"containers": [{"name": "main", "image": "example.com/part"}]}
    await client.create(Pod.resource, Pod.manifest("p", "default", spec=spec))
    return "p"


def path(target, rest="metrics"):
    return f"/api/v1/namespaces/default/pods/{target}/proxy/{rest}"


@pytest.mark.parametrize("target", ["p", "p:8443", "https:p:8443"])
async def test_a_pod_tells_what_it_serves(server, client, pod, target):
    with server.pod_ports.serving("default", pod, PATHS):
        assert await client.read(path(target)) == "up 1\n"


async def test_another_path_leads_nowhere(server, client, pod):
    with server.pod_ports.serving("default", pod, PATHS), pytest.raises(errors.NotFound, match="page not found"):
        await client.read(path(pod, "other"))


async def test_a_pod_that_serves_nothing_any_more_cannot_be_reached(server, client, pod):
    with server.pod_ports.serving("default", pod, PATHS):
        pass

    with pytest.raises(errors.ServerError, match='pod "default/p" listens on no port') as refused:
        await client.read(path(pod))
    assert refused.value.code == 503


async def test_a_pod_that_is_missing_is_not_found(client):
    with pytest.raises(errors.NotFound, match='pods "none" not found'):
        await client.read(path("none:8443"))


async def test_only_who_has_the_right_may_ask(server, alice, pod):
    with server.pod_ports.serving("default", pod, PATHS), pytest.raises(errors.Forbidden, match="pods/proxy"):
        await alice.read(path(pod))

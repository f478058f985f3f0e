"""A watch whose connection is cut at random bytes misses nothing and repeats nothing, over TLS and over plain HTTP."""

import asyncio
import random
from contextlib import AsyncExitStack

import pytest

from fleetqueue.client.kubeconfig import Connection
from fleetqueue.client.transport import connect
from fleetqueue.embedded.apiserver.http.front_end import FrontEnd
from fleetqueue.runtime import informer as informers

from .changes import change, follow, history, listed, through_informer
from .cutting import cutting

CHANGES = 80
MOST_BYTES = 12_000
"""After how many a connection is cut at the latest; a handshake is two thousand."""


@pytest.fixture
async def client_of():
    """Open clients; all are closed in the end."""
    async with AsyncExitStack() as stack:

        def open_client(connection):
            client = connect(connection)
            stack.push_async_callback(client.close)
            return client

        yield open_client


@pytest.fixture(params=["TLS", "plain"])
async def address(request, endpoint):
    """The port of a server, and how its clients connect to another port that leads there."""
    if request.param == "TLS":
        pair = endpoint.authority.client("admin", ["system:masters"])
        trust = {"ca": endpoint.authority.pem.certificate, "client_certificate": pair.certificate}
        yield endpoint.port, lambda port: Connection(f"https://127.0.0.1:{port}", **trust, client_key=pair.key)
        return
    plain = FrontEnd(endpoint.server.handler, endpoint.server.authentication)
    port = await plain.start()
    yield port, lambda port: Connection(f"http://127.0.0.1:{port}", token="admin")
    await plain.stop()


@pytest.mark.parametrize("seed", range(2))
async def test_a_watch_over_a_socket_is_complete(endpoint, address, client_of, seed):
    chance = random.Random(seed)
    port, connection = address
    since = endpoint.server.storage.revision
    async with cutting(port, chance, MOST_BYTES) as (cut_port, connections):
        work = follow(client_of(connection(cut_port)), since), change(client_of(connection(port)), chance, CHANGES)
        seen, _ = await asyncio.gather(*work)

    assert seen == await history(endpoint.server, since)
    assert len(connections) > 10


@pytest.mark.parametrize("seed", range(2))
async def test_an_informer_over_a_socket_tells_everything_once(endpoint, address, client_of, seed, monkeypatch):
    monkeypatch.setattr(informers, "FIRST_DELAY", 0.001)
    monkeypatch.setattr(informers, "LAST_DELAY", 0.01)
    chance = random.Random(seed)
    port, connection = address
    since = endpoint.server.storage.revision
    async with cutting(port, chance, MOST_BYTES) as (cut_port, connections):
        clients = client_of(connection(cut_port)), client_of(connection(port))
        told, stored = await through_informer(*clients, chance, CHANGES)

    assert told == [(kind, name) for kind, name, _ in await history(endpoint.server, since)]
    assert stored == listed(endpoint.server)
    assert len(connections) > 10

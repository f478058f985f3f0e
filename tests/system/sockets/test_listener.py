"""Whoever connects is met or refused, at whatever moment a listener closes."""

import asyncio
import gc
import socket
from contextlib import suppress

import pytest

from fleetqueue.embedded.apiserver.http.listener import Listener

HOST = "127.0.0.1"


class Farewell(asyncio.Protocol):
    def connection_made(self, transport):
        transport.abort()


@pytest.fixture
def client():
    """Begins to connect, and does not wait for it."""
    with socket.socket() as client:
        client.setblocking(False)
        yield client


@pytest.fixture
def without_garbage_collection():
    """What asyncio forgets is closed by chance, when Python looks for garbage."""
    gc.disable()
    yield
    gc.enable()


async def turns(count):
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("moment", range(8))
async def test_nobody_is_forgotten_when_a_listener_closes(client, moment, without_garbage_collection):
    listener = Listener(HOST, 0, None, Farewell)
    with socket.create_connection((HOST, listener.port)):
        await turns(10)  # it is ready when the first client has come
    with suppress(BlockingIOError):
        client.connect((HOST, listener.port))
    await turns(moment)

    await listener.close()

    async with asyncio.timeout(5):
        with suppress(ConnectionError):
            assert await asyncio.get_running_loop().sock_recv(client, 1) == b""

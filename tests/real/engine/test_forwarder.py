"""The forwarder passes bytes on in both directions and ends with either end. Needs no built engine."""

import asyncio

import pytest

from fleetqueue.lab.forwarder import Entrance

HOST = "127.0.0.1"


@pytest.fixture
async def echo():
    """A server that says everything again, louder."""

    async def answer(reader, writer):
        while data := await reader.read(65536):
            writer.write(data.upper())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
async def forwarded(echo):
    entrances = []

    def entrance():
        entrances.append(Entrance(echo))
        return entrances[-1]

    server = await asyncio.get_running_loop().create_server(entrance, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await all_closed([side for side in entrances for side in (side, side.peer)])


async def test_bytes_go_there_and_back(forwarded):
    reader, writer = await asyncio.open_connection(HOST, forwarded)
    writer.write(b"hello")

    assert await reader.readexactly(5) == b"HELLO"
    await close(writer)


async def test_much_passes_through_unchanged(forwarded):
    reader, writer = await asyncio.open_connection(HOST, forwarded)
    content = b"abc" * 1_000_000

    async def send():
        writer.write(content)
        await writer.drain()
        writer.write_eof()

    _, answer = await asyncio.gather(send(), reader.read(-1))

    assert answer == content.upper()
    await close(writer)


async def test_nobody_behind_it_looks_like_nobody_there():
    server = await asyncio.get_running_loop().create_server(lambda: Entrance(1), HOST, 0)
    async with server:
        reader, writer = await asyncio.open_connection(HOST, server.sockets[0].getsockname()[1])

        assert await reader.read() == b""
        await close(writer)


async def all_closed(sides):
    """Both ends of every connection go when a client goes."""
    for _ in range(500):
        if all(side.transport.is_closing() for side in sides):
            return
        await asyncio.sleep(0.01)
    pytest.fail("a forwarded connection outlived its client")


async def close(writer):
    writer.close()
    await writer.wait_closed()

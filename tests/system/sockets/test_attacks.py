"""Clients that behave badly at the socket: the server goes on answering others, and keeps nothing of them."""

import asyncio
import contextlib
import os
import ssl

import pytest

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LIMIT_SECONDS = 20.0
POLL_SECONDS = 0.02
AT_ONCE = 8


@pytest.fixture
def connection(endpoint):
    """Open a raw connection: `await connection()` with a certificate, `await connection(None)` without one."""
    admin = endpoint.trust(endpoint.authority.client("admin", ["system:masters"]))
    nobody = endpoint.trust()

    async def connect(context=admin):
        context = nobody if context is None else context
        return await asyncio.open_connection("127.0.0.1", endpoint.port, ssl=context, server_hostname="localhost")

    return connect


def held():
    """Count what a client could leave behind: file descriptors and tasks."""
    return len(os.listdir("/dev/fd")), len(asyncio.all_tasks())


async def is_back_at(before):
    """Wait until no more is held than before; tell whether it is so."""
    for _ in range(int(LIMIT_SECONDS / POLL_SECONDS)):
        if all(now <= then for now, then in zip(held(), before, strict=True)):
            return True
        await asyncio.sleep(POLL_SECONDS)
    return False


async def half_a_head(reader, writer):
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    for _ in range(5):
        writer.write(b"y")
        await writer.drain()


async def half_a_body(reader, writer):
    writer.write(b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" % CONFIG_MAPS.encode())
    writer.write(b'Content-Length: 1000\r\n\r\n{"metadata":{"name":"half"}')
    await writer.drain()


async def half_a_chunk(reader, writer):
    writer.write(b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" % CONFIG_MAPS.encode())
    writer.write(b'Transfer-Encoding: chunked\r\n\r\nff\r\n{"metadata":{"name":"half"}')
    await writer.drain()


async def a_huge_head(reader, writer):
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\n" + b"X-Much: " + b"y" * 1_000_000 + b"\r\n\r\n")
    await writer.drain()


async def many_headers(reader, writer):
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\n" + b"X-Many: y\r\n" * 20_000 + b"\r\n")
    await writer.drain()


async def a_watch_that_nobody_reads(reader, writer):
    writer.write(f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    await reader.readline()


async def many_requests_and_no_patience(reader, writer):
    writer.write(f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 100)
    await writer.drain()


ATTACKS = [
    half_a_head,
    half_a_body,
    half_a_chunk,
    a_huge_head,
    many_headers,
    a_watch_that_nobody_reads,
    many_requests_and_no_patience,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
async def test_others_are_answered_and_nothing_is_left(endpoint, admin, connection, attack):
    async with admin.get("/healthz"):
        before = held()

    opened = await asyncio.gather(*(connection() for _ in range(AT_ONCE)))
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        await asyncio.gather(*(attack(*one) for one in opened), return_exceptions=True)
    async with asyncio.timeout(LIMIT_SECONDS), admin.get(CONFIG_MAPS) as answer:
        listed = await answer.json()
    for _, writer in opened:
        writer.transport.abort()

    assert listed["items"] == []
    assert await is_back_at(before)


async def test_a_handshake_that_never_ends_holds_up_nobody(endpoint, admin):
    async with admin.get("/healthz"):
        before = held()
    opened = [await asyncio.open_connection("127.0.0.1", endpoint.port) for _ in range(AT_ONCE)]
    for _, writer in opened:
        writer.write(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a hello

    async with asyncio.timeout(LIMIT_SECONDS), admin.get("/healthz") as answer:
        assert answer.status == 200
    for _, writer in opened:
        writer.transport.abort()

    assert await is_back_at(before)


async def test_without_a_certificate_one_is_nobody(connection):
    reader, writer = await connection(None)
    writer.write(f"GET {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())

    answer = await asyncio.wait_for(reader.read(), LIMIT_SECONDS)
    writer.close()

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"system:anonymous" in answer

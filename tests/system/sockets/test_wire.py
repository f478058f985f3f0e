"""HTTP/1 as a client meets it byte by byte, and endpoints that are cut off."""

import asyncio
import contextlib

import aiohttp
import pytest

from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.http import front_end as front_ends
from fleetqueue.embedded.apiserver.registry.writes import Write
from fleetqueue.embedded.apiserver.server import SERVER

HOST = "127.0.0.1"
ROOT = b"Host: x\r\nAuthorization: Bearer root\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
SOON = 5.0


@pytest.fixture
async def speak(endpoint):
    """Send bytes, without TLS, to the same API; return all that comes until the server closes or says no more."""
    endpoint.server.authentication.tokens["root"] = User("root", (MASTERS,))
    other = front_ends.FrontEnd(endpoint.server.handler, endpoint.server.authentication)
    port = await other.start()

    async def said(*pieces):
        reader, writer = await asyncio.open_connection(HOST, port)
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0)
        answer = await asyncio.wait_for(reader.read(), SOON)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        return answer.decode()

    yield said
    await other.stop()


async def test_requests_that_come_together_are_answered_in_order(speak):
    answer = await speak(HEALTH + b"\r\nGET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

    assert answer.count("HTTP/1.1 200 OK") == 2
    assert answer.index("\r\n\r\nok") < answer.index("gitVersion")


async def test_the_server_closes_where_the_client_wants_it(speak):
    answer = await speak(HEALTH + b"Connection: close\r\n\r\n")

    assert "\r\nConnection: close\r\n" in answer
    assert "\r\nContent-Length: 2\r\n" in answer
    assert "\r\nDate: " in answer


async def test_an_old_client_is_answered_and_may_ask_again(speak):
    again = b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"

    answer = await speak(again + b"GET /healthz HTTP/1.0\r\n\r\n")

    assert answer.count("\r\n\r\nok") == 2
    assert "Connection: keep-alive" in answer


async def test_an_old_client_cannot_watch(speak):
    answer = await speak(b"GET /api/v1/namespaces?watch=1 HTTP/1.0\r\n" + ROOT + b"\r\n")

    assert answer.startswith("HTTP/1.1 400 Bad Request")
    assert "a watch needs HTTP/1.1" in answer


async def test_a_body_in_chunks_is_read(speak):
    head = b"POST /api/v1/namespaces HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n" + ROOT + b"\r\n"

    answer = await speak(head, b'e\r\n{"metadata":{"\r\n', b'd\r\nname":"new"}}\r\n', b"0\r\n\r\n")

    assert answer.startswith("HTTP/1.1 201 Created")
    assert '"name":"new"' in answer


async def test_chunks_that_make_no_sense_end_the_connection_after_the_answer(speak):
    head = b"POST /api/v1/namespaces HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + ROOT + b"\r\n"

    answer = await speak(head, b"nonsense\r\n", b"x" * 100_000)

    assert answer.startswith("HTTP/1.1 400 Bad Request")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"hello\r\n\r\n", "400 Bad Request", id="no HTTP"),
        pytest.param(HEALTH + b"Content-Length: x\r\n\r\n", "400 Bad Request", id="a length that is none"),
        pytest.param(HEALTH + b"A: " + b"x" * 300_000, "431 Request Header Fields Too Large", id="an endless header"),
    ],
)
async def test_what_is_no_request_is_told_so_and_closed(speak, sent, status):
    answer = await speak(sent)

    assert answer.startswith(f"HTTP/1.1 {status}\r\n")
    assert "\r\nConnection: close\r\n" in answer


async def test_a_client_that_is_silent_for_too_long_is_let_go(endpoint, monkeypatch):
    monkeypatch.setattr(front_ends, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(front_ends, "SWEEP_SECONDS", 0.05)
    other = front_ends.FrontEnd(endpoint.server.handler, endpoint.server.authentication)
    reader, writer = await asyncio.open_connection(HOST, await other.start())

    assert await asyncio.wait_for(reader.read(), SOON) == b""
    writer.close()
    await other.stop()


# Cut off


async def is_ok(session):
    async with session.get("/healthz") as answer:
        return await answer.text() == "ok"


async def test_a_refusing_endpoint_breaks_connections_and_takes_no_new_ones(endpoint, admin):
    async with admin.get("/api/v1/namespaces?watch=1&timeoutSeconds=300") as watch:
        await endpoint.front_end.refuse()

        with pytest.raises(aiohttp.ClientError):
            await watch.content.read()
    with pytest.raises(aiohttp.ClientConnectionError):
        await admin.get("/healthz")


async def test_a_frozen_endpoint_answers_when_it_thaws(endpoint, admin):
    assert await is_ok(admin)
    await endpoint.front_end.freeze()
    async with endpoint.session() as newcomer:
        waiting = [asyncio.create_task(is_ok(session)) for session in (admin, newcomer)]
        await asyncio.wait(waiting, timeout=0.3)
        assert not any(task.done() for task in waiting)

        endpoint.front_end.thaw()

        assert await asyncio.wait_for(asyncio.gather(*waiting), SOON) == [True, True]


async def test_a_watch_through_a_frozen_endpoint_misses_nothing(endpoint, admin):
    async with admin.get("/api/v1/namespaces?watch=1&timeoutSeconds=300") as watch:
        await watch.content.readline()
        await endpoint.front_end.freeze()
        namespaces = endpoint.server.resources.find("", "v1", "namespaces")
        await endpoint.server.store.create(namespaces, "", {"metadata": {"name": "new"}}, Write(SERVER))
        endpoint.front_end.thaw()

        seen = b""
        while b'"new"' not in seen:
            seen = await asyncio.wait_for(watch.content.readline(), SOON)


async def test_a_frozen_endpoint_can_be_stopped(endpoint, admin):
    assert await is_ok(admin)
    await endpoint.front_end.freeze()

    await asyncio.wait_for(endpoint.front_end.stop(), SOON)

    with pytest.raises(aiohttp.ClientError):
        await admin.get("/healthz")

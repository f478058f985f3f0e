"""A watch over HTTP: lines of JSON, split only where a newline byte stands, for as long as the server speaks."""

import asyncio
import socket

import orjson
import pytest
from aiohttp import web

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.errors import Unreachable
from fleetqueue.api.requests import Request
from fleetqueue.client import Client

WATCH = Request("GET", "/api/v1/nodes", {"watch": "true"})


def line(name, kind="ADDED", **more):
    return orjson.dumps({"type": kind, "object": {"metadata": {"name": name}, **more}}) + b"\n"


def sends(*chunks, then=None):
    """Answer with these chunks; then end cleanly, or do something else."""

    async def answer(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if then is not None:
            await then(request)
        return response

    return answer


async def stays_open(request):
    await asyncio.sleep(60)


async def breaks(request):
    request.transport.abort()


async def names(door, silence=5.0, seen=None):
    seen = [] if seen is None else seen
    async with door.stream(WATCH, silence=silence) as stream:
        async for event in stream.lines():
            seen.append(event["object"]["metadata"]["name"])
    return seen


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([line("a") + line("b")], id="two lines in one chunk"),
        pytest.param([line("a")[:9], line("a")[9:] + line("b")[:3], line("b")[3:]], id="lines cut anywhere"),
        pytest.param([bytes([byte]) for byte in line("a") + line("b")], id="byte by byte"),
        pytest.param([b"\n", line("a"), b"\n\n", line("b")], id="empty lines between"),
    ],
)
async def test_lines_are_put_together(server, door, chunks):
    server.answer = sends(*chunks)

    assert await names(door()) == ["a", "b"]


@pytest.mark.parametrize("separator", ["\u0085", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c"])
async def test_only_a_newline_byte_ends_a_line(server, door, separator):
    server.answer = sends(line(f"a{separator}b"))

    assert await names(door()) == [f"a{separator}b"]


async def test_a_letter_may_be_cut_in_the_middle(server, door):
    whole = line("größe")
    middle = whole.index("ö".encode()) + 1
    server.answer = sends(whole[:middle], whole[middle:])

    assert await names(door()) == ["größe"]


async def test_an_event_of_five_mebibytes_arrives(server, door):
    server.answer = sends(line("big", data="x" * (5 * 1024 * 1024)), line("small"))

    assert await names(door()) == ["big", "small"]


async def test_an_endless_line_is_no_kubernetes_api(server, door, monkeypatch):
    monkeypatch.setattr("fleetqueue.client.transport.MAX_LINE", 1000)
    server.answer = sends(b"x" * 2000, then=stays_open)

    with pytest.raises(Unreachable, match="longer than 1000 bytes"):
        await names(door())


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (b"<html>\n", "a watch line is not JSON: b'<html>'"),
        (b"[]\n", "a watch line is no event"),
        (b'{"type": "ADDED"}\n', "a watch line is no event"),
        (b'{"type": "ADDED", "object": null}\n', "a watch line is no event"),
    ],
)
async def test_a_line_that_is_no_event_ends_the_watch(server, door, odd, message):
    server.answer = sends(line("a"), odd)
    seen = []

    with pytest.raises(Unreachable, match=message):
        await names(door(), seen=seen)

    assert seen == ["a"]


async def test_a_line_without_its_end_is_not_taken(server, door):
    server.answer = sends(line("a"), line("b")[:-5])

    assert await names(door()) == ["a"]


async def test_a_broken_connection_is_no_answer(server, door):
    server.answer = sends(line("a"), then=breaks)
    seen = []

    with pytest.raises(Unreachable):
        await names(door(), seen=seen)

    assert seen == ["a"]


async def test_a_connection_that_fell_silent_is_no_answer(server, door):
    server.answer = sends(line("a"), then=stays_open)
    seen = []

    with pytest.raises(Unreachable):
        await names(door(), silence=0.03, seen=seen)

    assert seen == ["a"]


async def test_the_system_watches_over_a_quiet_connection(server, door):
    server.answer = sends(line("a"), then=stays_open)

    async with door().stream(WATCH, silence=5) as stream:
        connected = stream._response.connection.transport.get_extra_info("socket")

        assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


async def test_an_error_instead_of_a_stream_can_be_read(server, door):
    async def answer(request):
        return web.json_response({"kind": "Status", "message": "too old", "reason": "Expired"}, status=410)

    server.answer = answer

    async with door().stream(WATCH, silence=5) as stream:
        assert stream.status == 410
        assert (await stream.body())["message"] == "too old"


async def test_a_refused_watch_renews_the_credential_for_the_next_one(server, door, tmp_path):
    token = tmp_path / "token"
    token.write_text("old")

    async def answer(request):
        if request.headers["Authorization"] == "Bearer new":
            return await sends(line("a"))(request)
        return web.json_response({"kind": "Status", "message": "who?"}, status=401)

    server.answer = answer
    client = Client(door(token_file=token))

    with pytest.raises(errors.Unauthorized):
        async with client.watch(Node.resource, query={}, silence=5):
            pass
    token.write_text("new")

    async with client.watch(Node.resource, query={}, silence=5) as events:
        assert [event.object["metadata"]["name"] async for event in events] == ["a"]


async def test_a_watch_that_nobody_reads_to_its_end_is_closed(server, door):
    server.answer = sends(line("a"), line("b"), then=stays_open)
    client = Client(door())

    async with client.watch(Node.resource, query={}, silence=5) as events:
        async for event in events:
            assert event.object["metadata"]["name"] == "a"
            break

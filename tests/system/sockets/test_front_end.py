"""The endpoint of an embedded cluster, spoken to over a real socket with TLS."""

import asyncio
import contextlib
import socket
import ssl
import time
from io import BytesIO

import aiohttp
import orjson
import pytest

from fleetqueue.embedded.apiserver.http import front_end
from fleetqueue.embedded.apiserver.http.front_end import FrontEnd
from fleetqueue.lab.certificates import Authority

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def create(session, name, **data):
    async with session.post(CONFIG_MAPS, json=config_map(name, **data)) as answer:
        assert answer.status == 201
        return await answer.json()


async def without_streams(endpoint, seconds=20.0):
    """Wait until the server has no stream left; tell whether it is so."""
    for _ in range(int(seconds / 0.05)):
        if not endpoint.front_end._streams:
            return True
        await asyncio.sleep(0.05)
    return False


async def events(response):
    """Yield the events of a watch."""
    async for line in response.content:
        yield orjson.loads(line)


async def test_an_object_is_made_read_changed_and_deleted(admin):
    made = await create(admin, "a", k="1")
    async with admin.patch(
        f"{CONFIG_MAPS}/a", json={"data": {"k": "2"}}, headers={"Content-Type": "application/merge-patch+json"}
    ) as answer:
        changed = await answer.json()
    async with admin.get(CONFIG_MAPS) as answer:
        listed = await answer.json()
    async with admin.delete(f"{CONFIG_MAPS}/a") as answer:
        deleted = await answer.json()

    assert made["data"] == {"k": "1"}
    assert changed["data"] == {"k": "2"}
    assert listed["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
    assert deleted["status"] == "Success"


async def test_headers_are_those_of_a_kubernetes_api(admin):
    async with admin.get("/version") as answer:
        headers = answer.headers

    assert headers["Content-Type"] == "application/json"
    assert headers["Cache-Control"] == "no-cache, private"
    assert len(headers["Audit-Id"]) == 36


async def test_a_warning_is_a_header(admin):
    body = b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'

    async with admin.post(CONFIG_MAPS, data=body, headers={"Content-Type": "application/json"}) as answer:
        assert answer.headers.getall("Warning") == ['299 - "duplicate field \\"data.k\\""']


async def test_head_has_no_body(admin):
    async with admin.head("/healthz") as answer:
        assert (answer.status, await answer.read()) == (200, b"")


# Watches


async def test_a_watch_tells_what_happens_at_once(admin):
    async with admin.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=30") as watch:
        assert watch.headers["Content-Type"] == "application/json"
        seen = events(watch)
        await create(admin, "a", k="1")
        first = await asyncio.wait_for(anext(seen), 5)
        async with admin.delete(f"{CONFIG_MAPS}/a"):
            second = await asyncio.wait_for(anext(seen), 5)

    assert (first["type"], first["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert second["type"] == "DELETED"


async def test_a_watch_ends_cleanly_when_its_time_is_over(admin):
    await create(admin, "a")

    async with admin.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1") as watch:
        seen = [event["type"] async for event in events(watch)]

    assert seen == ["ADDED"]


async def test_small_pieces_go_out_at_once(endpoint, admin):
    await create(admin, "a")

    (connection,) = endpoint.front_end._connections
    taken = connection._transport.get_extra_info("socket")
    assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_the_server_forgets_a_watch_whose_client_has_gone(endpoint, admin):
    async with admin.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=300") as watch:
        assert len(endpoint.front_end._streams) == 1
        watch.close()

        assert await without_streams(endpoint)


async def test_who_does_not_read_is_dropped_and_holds_up_nobody(endpoint, admin, monkeypatch):
    monkeypatch.setattr(front_end, "SLOW_SECONDS", 0.3)
    slow = socket.create_connection(("127.0.0.1", endpoint.port))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.setblocking(False)
    context = endpoint.trust(endpoint.authority.client("admin", ["system:masters"]))
    reader, writer = await asyncio.open_connection(sock=slow, ssl=context, server_hostname="localhost", limit=1024)
    writer.transport.pause_reading()
    writer.write(f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    for number in range(60):
        await create(admin, f"big-{number}", k="x" * 200_000)
        assert endpoint.front_end._streams or number > 10

    assert await without_streams(endpoint)
    writer.transport.abort()
    del reader


async def test_stopping_ends_watches_first_and_at_once(endpoint, admin):
    async with admin.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=300") as watch:
        before = time.monotonic()
        await endpoint.front_end.stop()

        assert await watch.content.read() == b""
        assert time.monotonic() - before < 2.0


async def test_many_clusters_in_one_process(endpoint):
    others = [FrontEnd(endpoint.server.handler, endpoint.server.authentication) for _ in range(20)]
    ports = [await other.start() for other in others]

    async with aiohttp.ClientSession() as session:
        for port in ports:
            async with session.get(f"http://127.0.0.1:{port}/healthz") as answer:
                assert await answer.text() == "ok"
    for other in others:
        await other.stop()

    assert len(set(ports)) == 20


# Who


async def test_a_certificate_says_who_one_is(endpoint):
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

    async with endpoint.session("bob", ("team", "other")) as bob, bob.post(path, json={}) as answer:
        user = (await answer.json())["status"]["userInfo"]

    assert (user["username"], user["groups"]) == ("bob", ["team", "other", "system:authenticated"])
    assert list(user["extra"]) == ["authentication.kubernetes.io/credential-id"]


async def test_a_token_does_too(endpoint):
    connector = aiohttp.TCPConnector(ssl=endpoint.trust())
    async with aiohttp.ClientSession(endpoint.url, connector=connector) as session:
        async with session.get(CONFIG_MAPS, headers={"Authorization": "Bearer alice"}) as answer:
            known = answer.status, (await answer.json())["message"]
        async with session.get(CONFIG_MAPS, headers={"Authorization": "Bearer mallory"}) as answer:
            unknown = answer.status

    assert known[0] == 403
    assert 'User "alice" cannot list' in known[1]
    assert unknown == 401


async def test_a_certificate_of_another_authority_does_not_get_in(endpoint):
    stranger = Authority.new("stranger").client("admin", ["system:masters"])
    connector = aiohttp.TCPConnector(ssl=endpoint.trust(stranger))

    async with aiohttp.ClientSession(endpoint.url, connector=connector) as session:
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
            await session.get("/version")


async def test_the_certificate_of_a_server_is_none_for_a_client(endpoint):
    pair = endpoint.authority.server("admin", dns=["x"])
    connector = aiohttp.TCPConnector(ssl=endpoint.trust(pair))

    async with aiohttp.ClientSession(endpoint.url, connector=connector) as session:
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
            await session.get("/version")


# What should not come


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b'{"a":', 400, id="truncated"),
        pytest.param(b"[" * 20_000, 400, id="deep"),
        pytest.param(b'{"a":"' + b"x" * 3_200_000 + b'"}', 413, id="large"),
        pytest.param(b"\x00\xff\xfe", 400, id="no text"),
        pytest.param(b"[]", 400, id="a list"),
    ],
)
async def test_bad_bodies_are_refused_and_the_connection_lives(admin, body, status):
    async with admin.post(CONFIG_MAPS, data=BytesIO(body), headers={"Content-Type": "application/json"}) as answer:
        assert answer.status == status
        assert (await answer.json())["kind"] == "Status"
    async with admin.get("/healthz") as answer:
        assert answer.status == 200


async def test_a_large_body_without_a_length_is_refused_too(admin):
    async def chunks():
        for _ in range(40):
            yield b"x" * 100_000

    async with admin.post(CONFIG_MAPS, data=chunks(), headers={"Content-Type": "application/json"}) as answer:
        assert answer.status == 413


async def test_deep_yaml_does_not_end_the_process(admin):
    for body in (b"[" * 500_000, b"{a: " * 500_000, b"- " * 100_000):
        async with admin.post(CONFIG_MAPS, data=BytesIO(body), headers={"Content-Type": "application/yaml"}) as answer:
            assert answer.status == 400


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing at all"),
        pytest.param(b"GET /healthz", id="half a request line"),
        pytest.param(
            b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{" % CONFIG_MAPS.encode(), id="half a body"
        ),
        pytest.param(b"\x16\x03\x01 what is this\r\n\r\n", id="no HTTP"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200_000 + b"\r\n\r\n", id="an endless header"),
    ],
)
async def test_half_requests_hold_up_nobody(endpoint, admin, sent):
    context = endpoint.trust(endpoint.authority.client("admin", ["system:masters"]))
    _, writer = await asyncio.open_connection("127.0.0.1", endpoint.port, ssl=context, server_hostname="localhost")
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        writer.write(sent)
        await writer.drain()

    async with admin.get("/healthz") as answer:
        assert answer.status == 200
    before = time.monotonic()
    await endpoint.front_end.stop()
    assert time.monotonic() - before < 4.0
    writer.transport.abort()


async def test_a_client_without_tls_gets_nothing(endpoint, admin):
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")

    with contextlib.suppress(ConnectionError):
        assert b"ok" not in await asyncio.wait_for(reader.read(), 15)
    writer.close()
    async with admin.get("/healthz") as answer:
        assert answer.status == 200

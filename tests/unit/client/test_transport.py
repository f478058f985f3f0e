"""The HTTP door: who we are, what is sent, what comes back, and what counts as no answer."""

import asyncio
import base64
import contextlib
import socket
import ssl
import sys
import traceback
from datetime import timedelta

import orjson
import pytest
from aiohttp import web

from fleetqueue import clock
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.errors import TooManyRequests, Unreachable
from fleetqueue.api.requests import MERGE_PATCH, Request
from fleetqueue.client import Client
from fleetqueue.client.credentials import Credential
from fleetqueue.client.kubeconfig import Connection, ExecPlugin, load
from fleetqueue.client.transport import HttpDoor, UnreadableCertificate, tls_context
from fleetqueue.testing.virtual_time import ShiftedClock

GET = Request("GET", "/api/v1/nodes")


def answers(body=None, status=200, **more):
    async def answer(request):
        return web.Response(body=orjson.dumps({} if body is None else body), status=status, **more)

    return answer


async def no_answer(request):
    await asyncio.sleep(60)


def address_of(listening):
    host, port = listening.sockets[0].getsockname()
    return f"{host}:{port}"


def subject(request):
    """The common name of the certificate that a client showed, if any."""
    shown = request.get_extra_info("ssl_object").getpeercert()
    return dict(pair for part in shown["subject"] for pair in part)["commonName"] if shown else None


async def test_a_request_arrives_whole_and_its_answer_comes_back(server, door):
    bodies = []

    async def answer(request):
        bodies.append(await request.json())
        return web.json_response({"kind": "Node"}, status=201)

    server.answer = answer
    request = Request("PATCH", "/api/v1/nodes/n", {"fieldManager": "me", "force": "true"}, {"a": "ü"}, MERGE_PATCH)

    response = await door(token="t").request(request, timeout=5)

    (seen,) = server.seen
    assert (response.status, response.body) == (201, {"kind": "Node"})
    assert (seen.method, seen.path, dict(seen.query)) == (
        "PATCH",
        "/api/v1/nodes/n",
        {"fieldManager": "me", "force": "true"},
    )
    assert bodies == [{"a": "ü"}]
    assert seen.headers["Content-Type"] == MERGE_PATCH
    assert seen.headers["Authorization"] == "Bearer t"
    assert seen.headers["User-Agent"].startswith("fleetqueue/")


async def test_special_letters_survive_paths_and_queries(server, door):
    server.answer = answers()

    await door().request(Request("GET", "/clusterroles/a%3Ab", {"labelSelector": "a in (b,c),d=e/f"}), timeout=5)

    assert server.seen[0].path == "/clusterroles/a:b"
    assert server.seen[0].query["labelSelector"] == "a in (b,c),d=e/f"


@pytest.mark.parametrize(
    ("body", "header", "seconds"),
    [
        pytest.param(b"Too many requests", "7", 7, id="in a header beside a text"),
        pytest.param(b'{"kind": "Status", "code": 429}', "7", 7, id="in a header beside a Status"),
        pytest.param(b'{"details": {"retryAfterSeconds": 3}}', "7", 3, id="a Status that says it itself"),
        pytest.param(b"{}", "Wed, 21 Oct 2026 07:28:00 GMT", None, id="a date, which no Kubernetes sends"),
        pytest.param(b"{}", "", None, id="no time"),
        pytest.param(b"{}", "86400", 60, id="a day, of which a minute is waited"),
        pytest.param(b"{}", "9" * 400, None, id="a number that no float holds"),
        pytest.param(b"{}", "9" * 5000, None, id="a number that Python does not read"),
        pytest.param(b'{"details": {"retryAfterSeconds": "soon"}}', "", None, id="a Status with a word"),
    ],
)
async def test_the_time_that_a_server_asks_to_wait_is_told(server, door, body, header, seconds):
    async def answer(request):
        return web.Response(body=body, status=429, headers={"Retry-After": header} if header else {})

    server.answer = answer

    with pytest.raises(TooManyRequests) as refused:
        await Client(door()).read("/api")
    with pytest.raises(TooManyRequests) as refused_watch:
        async with Client(door()).watch(Node.resource, query={}, silence=5):
            pass

    assert refused.value.retry_after == refused_watch.value.retry_after == seconds


@pytest.mark.parametrize(
    "own", [pytest.param(False, id="of the environment"), pytest.param(True, id="of the kubeconfig")]
)
async def test_a_server_is_asked_through_the_proxy(monkeypatch, own):
    lines = []

    async def refuse(reader, writer):
        lines.append((await reader.readline()).decode().strip())
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1" if own else address)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        door = HttpDoor(Connection(server="https://worker.example:6443", proxy_url=address if own else ""))
        with pytest.raises(Unreachable, match="502"):
            await door.request(GET, timeout=5)
        await door.close()

    assert lines == ["CONNECT worker.example:6443 HTTP/1.1"]


@pytest.mark.parametrize(
    "server",
    [
        pytest.param("https://worker.example:6443", id="through a tunnel"),
        pytest.param("http://worker.example", id="without one"),
    ],
)
async def test_a_proxy_is_told_its_user(server):
    heads = []

    async def refuse(reader, writer):
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        door = HttpDoor(Connection(server, proxy_url=f"http://me:s3cret@{address_of(proxy)}"))
        with contextlib.suppress(Unreachable):
            await door.request(GET, timeout=5)
        await door.close()

    (head,) = heads
    assert f"\r\nProxy-Authorization: Basic {base64.b64encode(b'me:s3cret').decode()}\r\n" in head


@pytest.mark.parametrize(
    "own", [pytest.param(False, id="of the environment"), pytest.param(True, id="of the kubeconfig")]
)
@pytest.mark.parametrize(
    "address",
    [
        pytest.param("http://me:s3cret@{}", id="a proxy that refuses"),
        pytest.param("http://me:s3cret@127.0.0.1:1", id="a proxy that is not there"),
        pytest.param("http://me:s3cret@", id="no host"),
        pytest.param("http://me:/s3cret@127.0.0.1:port", id="no port"),
        pytest.param("http://me:s3cret", id="a password where the port should be"),
        pytest.param("http://s3cret\\x", id="a host that aiohttp does not take"),
    ],
)
async def test_no_error_shows_the_password_of_a_proxy(monkeypatch, address, own):
    async def refuse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        address = address.format(address_of(proxy))
        monkeypatch.setenv("HTTPS_PROXY", "" if own else address)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        door = HttpDoor(Connection("https://worker.example:6443", proxy_url=address if own else ""))
        with pytest.raises(Unreachable, match=r"GET /api/v1/nodes on https://worker\.example:6443: .") as refused:
            await door.request(GET, timeout=5)
        await door.close()

    assert "s3cret" not in "".join(traceback.format_exception(refused.value))
    assert "s3cret" not in repr(door.connection)


async def test_impersonation_is_sent_as_headers(server, door):
    server.answer = answers()

    await door(impersonate={"Impersonate-User": "jane"}).request(GET, timeout=5)

    assert server.seen[0].headers["Impersonate-User"] == "jane"


async def test_an_error_is_an_answer(server, door):
    server.answer = answers({"kind": "Status", "code": 409}, status=409)

    response = await door().request(GET, timeout=5)

    assert (response.status, response.body["code"]) == (409, 409)


async def test_text_is_an_answer_too(server, door):
    async def answer(request):
        return web.Response(text="ok")

    server.answer = answer

    assert (await door().request(Request("GET", "/livez"), timeout=5)).body == "ok"


async def test_a_redirect_is_not_followed(server, door):
    server.answer = answers(status=302, headers={"Location": "https://elsewhere.test/"})

    assert (await door(token="t").request(GET, timeout=5)).status == 302


async def test_a_client_certificate_is_shown(server, door, authority):
    server.answer = lambda request: answers({"you": subject(request)})(request)
    jane = authority.sign("jane")

    response = await door(client_certificate=jane.certificate, client_key=jane.key).request(GET, timeout=5)

    assert response.body == {"you": "jane"}


async def test_without_a_client_certificate_none_is_shown(server, door):
    server.answer = lambda request: answers({"you": subject(request)})(request)

    assert (await door().request(GET, timeout=5)).body == {"you": None}


async def test_a_refused_token_is_renewed_once(server, door, tmp_path):
    token = tmp_path / "token"
    token.write_text("old")

    async def answer(request):
        token.write_text("new")
        return web.json_response({}, status=200 if request.headers["Authorization"] == "Bearer new" else 401)

    server.answer = answer

    response = await door(token_file=token).request(GET, timeout=5)

    assert response.status == 200
    assert len(server.seen) == 2


async def test_a_token_that_stays_refused_is_not_tried_for_ever(server, door, tmp_path):
    (tmp_path / "token").write_text("bad")
    server.answer = answers(status=401)

    response = await door(token_file=tmp_path / "token").request(GET, timeout=5)

    assert response.status == 401
    assert len(server.seen) == 2


async def test_a_fixed_token_that_is_refused_is_not_tried_again(server, door):
    server.answer = answers(status=401)

    assert (await door(token="bad").request(GET, timeout=5)).status == 401
    assert len(server.seen) == 1


async def test_a_new_certificate_of_a_plugin_is_used_from_then_on(server, door, authority, tmp_path):
    server.answer = lambda request: answers({"you": subject(request)})(request)
    credential = tmp_path / "credential"
    plugin = ExecPlugin(sys.executable, ("-c", f"print(open({str(credential)!r}).read())"))

    def give(name):
        pair = authority.sign(name)
        status = {
            "clientCertificateData": pair.certificate.decode(),
            "clientKeyData": pair.key.decode(),
            "expirationTimestamp": "2020-01-01T00:00:00Z",
        }
        credential.write_bytes(orjson.dumps({"apiVersion": plugin.api_version, "status": status}))

    opened = door(exec=plugin)
    seen = []
    for name in ("one", "two", "three"):
        give(name)
        seen.append((await opened.request(GET, timeout=5)).body["you"])

    assert seen == ["one", "two", "three"]


async def test_the_certificate_of_an_add_on_is_followed_when_ocm_renews_it(server, authority, tmp_path):
    server.answer = lambda request: answers({"you": subject(request)})(request)
    path = tmp_path / "kubeconfig"
    ca = base64.b64encode(authority.pem).decode()
    config = {
        "clusters": [{"name": "hub", "cluster": {"server": server.url, "certificate-authority-data": ca}}],
        "users": [{"name": "agent", "user": {"client-certificate": "tls.crt", "client-key": "tls.key"}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "agent"}}],
        "current-context": "hub",
    }
    path.write_bytes(orjson.dumps(config))

    def give(pair, key=None):
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / "tls.key").write_bytes((key or pair).key)

    one, two = authority.sign("one"), authority.sign("two")
    give(one)
    opened = HttpDoor(load(path))
    try:
        first = (await opened.request(GET, timeout=5)).body["you"]
        with clock.use(ShiftedClock(timedelta(seconds=61))):
            give(two, key=one)  # in the middle of the renewal
            with pytest.raises(Unreachable, match="KEY_VALUES_MISMATCH"):
                await opened.request(GET, timeout=5)
            give(two)
            second = (await opened.request(GET, timeout=5)).body["you"]
    finally:
        await opened.close()

    assert (first, second) == ("one", "two")


async def test_a_server_by_another_name_needs_that_name(server, door):
    server.answer = answers()
    port = server.url.rpartition(":")[2]

    with pytest.raises(Unreachable, match="certificate"):
        await door(server=f"https://localhost:{port}").request(GET, timeout=5)
    named = await door(server=f"https://localhost:{port}", tls_server_name="api.test").request(GET, timeout=5)

    assert named.status == 200


async def test_a_server_of_another_authority_is_not_trusted(server, door):
    server.answer = answers()

    with pytest.raises(Unreachable, match="certificate verify failed"):
        await door(ca=None).request(GET, timeout=5)


async def test_insecure_means_that_nothing_is_verified(server, door):
    server.answer = answers()

    assert (await door(ca=None, insecure=True).request(GET, timeout=5)).status == 200


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"ca": b"no certificate"}, id="authority"),
        pytest.param({"ca": b"\xff\xfe"}, id="authority in no encoding"),
        pytest.param({"client_certificate": b"CERT", "client_key": b"KEY"}, id="client certificate"),
    ],
)
async def test_a_certificate_that_cannot_be_read_is_no_answer(server, door, broken):
    with pytest.raises(Unreachable, match=r"GET /api/v1/nodes on https://127.0.0.1"):
        await door(**broken).request(GET, timeout=5)


async def test_a_refused_connection_is_no_answer(door):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(Unreachable, match=rf"GET /api/v1/nodes on {url}: "):
            await door(server=url).request(GET, timeout=5)


async def test_a_name_that_nobody_knows_is_no_answer(door):
    with pytest.raises(Unreachable, match=r"no-such-host\.invalid"):
        await door(server="https://no-such-host.invalid").request(GET, timeout=5)


async def test_silence_is_no_answer(server, door):
    server.answer = no_answer

    with pytest.raises(Unreachable, match=r"GET /api/v1/nodes on .*: \w"):
        await door().request(GET, timeout=0.02)


def hang_up_first(times):
    left = [times]

    async def answer(request):
        if left[0]:
            left[0] -= 1
            request.transport.abort()
        return web.json_response({"ok": True})

    return answer


async def test_a_read_on_a_connection_that_just_closed_is_sent_again(server, door):
    server.answer = hang_up_first(1)

    assert (await door().request(GET, timeout=5)).body == {"ok": True}


@pytest.mark.parametrize(("method", "times"), [("GET", 2), ("POST", 1)])
async def test_a_write_is_never_sent_twice_and_a_read_not_for_ever(server, door, method, times):
    server.answer = hang_up_first(times)

    with pytest.raises(Unreachable):
        await door().request(Request(method, "/api/v1/nodes"), timeout=5)

    assert len(server.seen) == times


async def test_a_closed_door_can_be_closed_again(server, door):
    server.answer = answers()
    opened = door()
    await opened.request(GET, timeout=5)

    await opened.close()
    await opened.close()


class NoAddress:
    """A name service that never answers."""

    async def resolve(self, *args, **more):
        await asyncio.Event().wait()

    async def close(self):
        pass


@pytest.fixture
async def asking(monkeypatch):
    """A door whose server's address is being looked for, for a request and for a watch."""
    monkeypatch.setattr("aiohttp.connector.DefaultResolver", lambda **more: NoAddress())
    door = HttpDoor(Connection("https://hub.example:6443"))

    async def watch():
        async with door.stream(GET, silence=60):
            pass

    tasks = [asyncio.create_task(work) for work in (door.request(GET, timeout=60), watch())]
    await asyncio.sleep(0.01)
    yield door, tasks
    await door.close()


async def test_who_still_looks_for_the_server_when_the_door_closes_has_no_answer_and_is_not_cancelled(asking):
    door, tasks = asking

    await door.close()
    found = await asyncio.gather(*tasks, return_exceptions=True)

    assert [str(error) for error in found] == [f"{GET} on https://hub.example:6443: the session was closed"] * 2
    assert {type(error) for error in found} == {Unreachable}


async def test_who_is_told_to_stop_while_it_looks_for_the_server_stops(asking):
    _, tasks = asking

    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)

    assert [task.cancelled() for task in tasks] == [True, True]


async def test_a_plain_http_server_needs_no_certificates(door):
    async def handle(request):
        return web.json_response({"plain": True})

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()

    response = await door(server=f"http://127.0.0.1:{runner.addresses[0][1]}", ca=None).request(GET, timeout=5)
    await runner.cleanup()

    assert response.body == {"plain": True}


@pytest.mark.parametrize("server", ["https://hub:6443", "HTTPS://hub:6443", "Https://hub"])
def test_a_server_is_verified_however_its_scheme_is_written(server):
    context = tls_context(Connection(server), Credential())

    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_a_server_without_tls_has_nothing_to_verify():
    assert tls_context(Connection("http://hub:8080"), Credential()) is False


@pytest.mark.parametrize(
    ("credential", "what"),
    [
        pytest.param(Credential(ca=b"hello"), "the certificate authority of the kubeconfig", id="authority"),
        pytest.param(
            Credential(client_certificate=b"hello", client_key=b"hello"),
            "the client certificate and key of the kubeconfig",
            id="client certificate",
        ),
    ],
)
def test_a_certificate_that_cannot_be_read_is_named(credential, what):
    with pytest.raises(ssl.SSLError, match=f"{what} cannot be read"):
        tls_context(Connection("https://hub"), credential)


def test_the_file_in_which_it_stands_is_named(tmp_path):
    read = Connection("https://hub", file=tmp_path / "admin.kubeconfig")

    with pytest.raises(UnreadableCertificate, match=f"authority of {read.file} cannot be read"):
        tls_context(read, Credential(ca=b"hello"))

"""What should not come: it is refused with the right Status, nothing is stored, and the server goes on."""

import ssl
from datetime import UTC, datetime, timedelta
from io import BytesIO

import aiohttp
import orjson
import pytest

from fleetqueue import clock
from fleetqueue.embedded.apiserver.http import request_pipeline
from fleetqueue.embedded.apiserver.storage import keys
from fleetqueue.lab import certificates

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
JSON = {"Content-Type": "application/json"}


def nested(depth, opening=b'{"a":', closing=b"}"):
    return b'{"metadata":{"name":"a"},"x":' + opening * depth + b"1" + closing * depth + b"}"


def long(size):
    return b'{"metadata":{"name":"a"},"data":{"k":"' + b"x" * size + b'"}}'


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param(CONFIG_MAPS, nested(300), 400, id="deep objects"),
        pytest.param(CONFIG_MAPS, nested(9_000, b"[", b"]"), 400, id="deep lists"),
        pytest.param(CONFIG_MAPS, long(3_200_000), 413, id="large"),
        pytest.param(CONFIG_MAPS, long(2_000_000), 422, id="long"),
        pytest.param(CONFIG_MAPS, b'{"metadata":{"name":"a"},"data":{"k":', 400, id="truncated"),
        pytest.param(CONFIG_MAPS, b'{"metadata":{"name":"a","labels":[1]}}', 400, id="wrong type"),
        pytest.param(CONFIG_MAPS, b'{"metadata":{"name":"a"},"data":7}', 400, id="wrong type below"),
        pytest.param(CONFIG_MAPS, b'{"metadata":{"name":"../a"}}', 422, id="a path for a name"),
        pytest.param(f"{CONFIG_MAPS}?dryRun=maybe", b'{"metadata":{"name":"a"}}', 422, id="bad option"),
        pytest.param(f"{CONFIG_MAPS}?timeout=soon", b'{"metadata":{"name":"a"}}', 400, id="bad time"),
    ],
)
async def test_a_bad_write_stores_nothing(endpoint, admin, path, body, status):
    before = endpoint.server.storage.revision

    async with admin.post(path, data=BytesIO(body), headers=JSON) as answer:
        told = await answer.json()

    assert (answer.status, told["kind"], told["code"]) == (status, "Status", status)
    assert endpoint.server.storage.revision == before
    assert endpoint.server.storage.list(keys.prefix_of("", "configmaps")).entries == []


@pytest.mark.parametrize(
    "query",
    ["labelSelector=a%20b", "fieldSelector=a%3Db", "limit=x", "continue=!!", "resourceVersion=x", "timeoutSeconds=x"],
)
async def test_a_bad_question_is_a_bad_request(admin, query):
    async with admin.get(f"{CONFIG_MAPS}?{query}") as answer:
        assert (answer.status, (await answer.json())["reason"]) == (400, "BadRequest")


# Credentials


async def token_of(admin, seconds=600):
    async with admin.post(ACCOUNTS, json={"metadata": {"name": "robot"}}):
        pass
    body = {"spec": {"expirationSeconds": seconds}}
    async with admin.post(f"{ACCOUNTS}/robot/token", json=body) as answer:
        return (await answer.json())["status"]["token"]


async def status_with(endpoint, token):
    connector = aiohttp.TCPConnector(ssl=endpoint.trust())
    async with (
        aiohttp.ClientSession(endpoint.url, connector=connector) as session,
        session.get(CONFIG_MAPS, headers={"Authorization": f"Bearer {token}"}) as answer,
    ):
        return answer.status, await answer.json()


async def test_a_token_holds_until_it_ends(endpoint, admin, monkeypatch):
    token = await token_of(admin)
    before = await status_with(endpoint, token)
    later = datetime.now(UTC) + timedelta(hours=1)

    monkeypatch.setattr(clock, "now", lambda: later)
    after = await status_with(endpoint, token)

    assert before[0] == 403
    assert (after[0], after[1]["message"]) == (401, "Unauthorized")


async def test_a_token_dies_with_its_account(endpoint, admin):
    token = await token_of(admin)
    await status_with(endpoint, token)
    async with admin.delete(f"{ACCOUNTS}/robot"):
        pass

    assert (await status_with(endpoint, token))[0] == 401


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda token: token[:-4], id="cut"),
        pytest.param(lambda token: token.replace(".", ".e30", 1), id="other claims"),
        pytest.param(lambda token: "e30." + token.partition(".")[2], id="other header"),
        pytest.param(lambda token: "." * 100, id="dots"),
        pytest.param(lambda token: "x" * 20_000, id="long"),
    ],
)
async def test_a_spoilt_token_tells_nothing(endpoint, admin, spoil):
    status, told = await status_with(endpoint, spoil(await token_of(admin)))

    assert (status, told["message"], told.get("details")) == (401, "Unauthorized", None)


async def test_a_certificate_that_has_ended_does_not_get_in(endpoint, monkeypatch):
    monkeypatch.setattr(certificates, "BACKDATED", timedelta(days=2))
    monkeypatch.setattr(certificates, "LIFETIME", timedelta(days=-1))
    connector = aiohttp.TCPConnector(ssl=endpoint.trust(endpoint.authority.client("admin", ["system:masters"])))

    async with aiohttp.ClientSession(endpoint.url, connector=connector) as session:
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, ConnectionError)):
            await session.get("/version")


# Time and keys


async def test_an_answer_that_takes_longer_than_a_minute_is_given_up(endpoint, admin, monkeypatch):
    monkeypatch.setattr(request_pipeline, "MOST_SECONDS", 0.2)

    async with admin.get(f"{CONFIG_MAPS}?resourceVersion=99999999") as answer:
        assert (answer.status, (await answer.json())["reason"]) == (504, "Timeout")


async def test_the_keys_verify_tokens(admin):
    async with admin.get("/.well-known/openid-configuration") as answer:
        issuer = (await answer.json())["issuer"]
    async with admin.get("/openid/v1/jwks") as answer:
        keys_type, held = answer.headers["Content-Type"], orjson.loads(await answer.read())["keys"]

    assert issuer.startswith("https://kubernetes.default.svc")
    assert keys_type == "application/jwk-set+json"
    assert [(key["kty"], key["alg"]) for key in held] == [("EC", "ES256")]


async def test_the_old_openapi_is_there_for_who_reads_nothing_else(admin):
    wanted = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

    async with admin.get("/openapi/v2", headers={"Accept": wanted}) as answer:
        assert (answer.headers["Content-Type"], await answer.read()) == (
            wanted.replace("@", "."),
            b"\n\x032.0\x12\x15\n\nKubernetes\x12\x07v1.36.3",
        )


async def test_metrics_count_what_was_asked(admin):
    async with admin.post(CONFIG_MAPS, json={"metadata": {"name": "a"}}), admin.get(f"{CONFIG_MAPS}/b"):
        pass
    async with admin.get(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=30"), admin.get("/metrics") as answer:
        lines = (await answer.text()).splitlines()

    def value(name, *labels):
        found = (line for line in lines if line.startswith(f"{name}{{") and all(label in line for label in labels))
        return float(next(found).rpartition(" ")[2])

    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert value("apiserver_request_total", 'verb="POST"', 'resource="configmaps"', 'code="201"') == 1
    assert value("apiserver_request_total", 'verb="GET"', 'code="404"') == 1
    assert value("apiserver_request_duration_seconds_count", 'verb="POST"', 'resource="configmaps"') == 1
    assert value("apiserver_longrunning_requests", 'verb="WATCH"', 'resource="configmaps"') == 1
    assert value("apiserver_storage_objects", 'resource="configmaps"') == 1

"""Requests as they come over HTTP, without the sockets."""

import asyncio
import logging

import orjson
import pytest
from multidict import CIMultiDict

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.http import bodies
from fleetqueue.embedded.apiserver.http.exchange import ServerResponse, WatchStream
from fleetqueue.embedded.apiserver.http.request_pipeline import RawRequest, RequestPipeline, split_target
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

pytestmark = pytest.mark.virtual_time

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ADMIN = {"Authorization": "Bearer admin"}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
def ask(server):
    """`await ask("GET", path)` as the administrator; the reply."""
    pipeline = RequestPipeline(server.handler, server.authentication)

    async def ask(method, target, body=b"", *, user="admin", certificate=None, **headers):
        async def read():
            if isinstance(body, Exception):
                raise body
            return body

        sent = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
        if user:
            sent["Authorization"] = f"Bearer {user}"
        return await pipeline.reply(RawRequest(method, target, sent, certificate, read))

    return ask


def body_of(reply):
    return reply.answer.manifest


def config_map(name="a", **data):
    return orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


async def test_an_object_is_made_and_read(ask):
    made = await ask("POST", CONFIG_MAPS, config_map(k="1"))
    found = await ask("GET", f"{CONFIG_MAPS}/a")

    assert made.answer.status == 201
    assert isinstance(found.answer.body, StorageEntry)
    assert body_of(found)["data"] == {"k": "1"}


@pytest.mark.parametrize("part", ["attach", "exec", "portforward"])
async def test_who_wants_to_reach_into_a_pod_sends_no_body_and_hears_why_that_cannot_be(ask, part):
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "example.com/sleep"}]}}
    await ask("POST", "/api/v1/namespaces/default/pods", orjson.dumps(pod))

    refused = await ask("POST", f"/api/v1/namespaces/default/pods/p/{part}?command=ls")

    assert refused.answer.status == 501
    assert body_of(refused)["message"].startswith('pod "default/p" is a stand-in')


async def test_a_body_may_be_yaml(ask):
    made = await ask("POST", CONFIG_MAPS, b"metadata: {name: a}\ndata: {k: '1'}", Content_Type="application/yaml")

    assert body_of(made)["data"] == {"k": "1"}


async def test_a_program_is_the_manager_of_what_it_writes(ask):
    made = await ask("POST", CONFIG_MAPS, config_map(k="1"), User_Agent="kubectl/v1.36 (linux)")
    other = await ask("POST", CONFIG_MAPS, config_map("b", k="1"))

    assert body_of(made)["metadata"]["managedFields"][0]["manager"] == "kubectl"
    assert body_of(other)["metadata"]["managedFields"][0]["manager"] == "unknown"


async def test_a_field_that_stands_twice_is_warned_about(ask):
    made = await ask("POST", CONFIG_MAPS, b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}')

    assert list(made.answer.warnings) == ['duplicate field "data.k"']


async def test_a_watch_is_a_stream(ask):
    reply = await ask("GET", f"{CONFIG_MAPS}?watch=true")

    assert isinstance(reply.answer, WatchStream)


async def test_a_watch_as_a_table_names_its_columns_once(ask):
    for name in ("a", "b"):
        await ask("POST", CONFIG_MAPS, config_map(name))

    reply = await ask("GET", f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1", Accept=TABLE)
    frames = [obj async for _, obj in reply.answer.events]

    assert [frame["columnDefinitions"] is None for frame in frames] == [False, True]
    assert [frame["rows"][0]["cells"][0] for frame in frames] == ["a", "b"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (TABLE, "Table"),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "PartialObjectMetadata"),
    ],
)
async def test_even_a_bookmark_has_the_form_that_was_asked_for(ask, accept, kind):
    query = "watch=1&timeoutSeconds=1&allowWatchBookmarks=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan"

    reply = await ask("GET", f"{CONFIG_MAPS}?{query}", Accept=accept)
    frames = [obj async for _, obj in reply.answer.events]

    assert [frame["kind"] for frame in frames] == [kind]


@pytest.mark.parametrize(
    ("target", "accept", "message"),
    [
        (CONFIG_MAPS, "PartialObjectMetadata", "the requested object is a list (*core.ConfigMapList)"),
        (f"{CONFIG_MAPS}/a", "PartialObjectMetadataList", "the requested object is not a list (*core.ConfigMap)"),
    ],
)
async def test_a_list_is_no_object_and_an_object_no_list(ask, target, accept, message):
    await ask("POST", CONFIG_MAPS, config_map())

    reply = await ask("GET", target, Accept=f"application/json;as={accept};v=v1;g=meta.k8s.io")

    assert reply.answer.status == 406
    assert message in body_of(reply)["message"]


# Refusals


@pytest.mark.parametrize(
    ("method", "target", "headers", "status"),
    [
        pytest.param("GET", "/nowhere", {}, 404, id="a path of nobody"),
        pytest.param("GET", "//api/v1/namespaces", {}, 404, id="an empty part"),
        pytest.param("GET", "/apis/no.io/v1/things", {}, 404, id="a group of nobody"),
    ],
)
async def test_outside_the_api_a_missing_page_is_plain_text(ask, method, target, headers, status):
    reply = await ask(method, target, **headers)

    assert (reply.answer.status, reply.answer.body) == (status, "404 page not found\n")


@pytest.mark.parametrize(
    ("method", "target", "code", "reason"),
    [
        pytest.param("GET", "/api/v1/nothing", 404, "NotFound", id="a resource of nobody"),
        pytest.param("GET", f"{CONFIG_MAPS}/a", 404, "NotFound", id="no such object"),
        pytest.param("HEAD", CONFIG_MAPS, 405, "MethodNotAllowed", id="HEAD of a resource"),
        pytest.param("OPTIONS", CONFIG_MAPS, 405, "MethodNotAllowed", id="OPTIONS"),
        pytest.param("PUT", CONFIG_MAPS, 405, "MethodNotAllowed", id="an update of a collection"),
        pytest.param("POST", f"{CONFIG_MAPS}/a", 405, "MethodNotAllowed", id="a creation with a name"),
        pytest.param("POST", "/version", 405, "MethodNotAllowed", id="a post to the version"),
        pytest.param("GET", f"{CONFIG_MAPS}?timeout=x", 400, "BadRequest", id="a timeout that is none"),
        pytest.param("GET", f"{CONFIG_MAPS}?timeout=10", 400, "BadRequest", id="a timeout without a unit"),
        pytest.param("GET", f"{CONFIG_MAPS}?limit=x", 400, "BadRequest", id="a limit that is no number"),
        pytest.param("GET", f"{CONFIG_MAPS}?labelSelector=a%20b", 400, "BadRequest", id="no selector"),
    ],
)
async def test_a_refusal_is_a_status(ask, method, target, code, reason):
    reply = await ask(method, target)

    assert reply.answer.status == code
    assert (body_of(reply)["kind"], body_of(reply)["code"], body_of(reply)["reason"]) == ("Status", code, reason)


async def test_a_refusal_is_in_yaml_for_who_reads_yaml(ask):
    assert (await ask("GET", f"{CONFIG_MAPS}/a", Accept="application/yaml")).media_type == "application/yaml"


async def test_a_bad_token_is_refused_and_none_is_nobody(ask):
    bad = await ask("GET", CONFIG_MAPS, user="bad")
    nobody = await ask("GET", CONFIG_MAPS, user="")

    assert (bad.answer.status, body_of(bad)["reason"]) == (401, "Unauthorized")
    assert (nobody.answer.status, body_of(nobody)["reason"]) == (403, "Forbidden")


async def test_everybody_may_ask_for_health_and_version(ask):
    assert (await ask("GET", "/healthz", user="")).answer.body == "ok"
    assert (await ask("GET", "/version/", user="")).answer.status == 200


async def test_a_certificate_counts_more_than_a_token(ask):
    reply = await ask("GET", CONFIG_MAPS, user="bad", certificate=("admin", ("system:masters",)))

    assert reply.answer.status == 200


async def test_the_body_of_who_may_not_is_not_read(ask):
    reply = await ask("POST", CONFIG_MAPS, AssertionError("was read"), user="alice")

    assert reply.answer.status == 403


async def test_a_body_for_nobody_is_not_read(ask):
    reply = await ask("POST", "/api/v1/namespaces/default/nothing", AssertionError("was read"))

    assert reply.answer.status == 404


async def test_a_body_that_is_too_large(ask):
    reply = await ask("POST", CONFIG_MAPS, bodies.too_large())

    assert (reply.answer.status, body_of(reply)["reason"]) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    ("method", "target", "content_type"),
    [
        ("POST", CONFIG_MAPS, "text/plain"),
        ("PATCH", f"{CONFIG_MAPS}/a", "application/json"),
        ("DELETE", f"{CONFIG_MAPS}/a", "text/plain"),
    ],
)
async def test_a_body_of_another_type(ask, method, target, content_type):
    reply = await ask(method, target, b"{}", Content_Type=content_type)

    assert (reply.answer.status, body_of(reply)["reason"]) == (415, "UnsupportedMediaType")


async def test_a_review_is_no_table(ask):
    target = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    reply = await ask("POST", target, b'{"spec":{}}', Accept=TABLE)

    assert reply.answer.status == 406


# When things go wrong


class Broken:
    def __init__(self, server, answer):
        self.non_resource_paths, self.rbac, self.resources = (
            server.handler.non_resource_paths,
            server.handler.rbac,
            server.resources,
        )
        self.metrics = server.handler.metrics
        self.find = lambda context: answer
        self.authorize = lambda info, user: None


async def reply_of(server, answer, method="GET", target="/api/v1/namespaces"):
    async def read():
        return b"{}"

    pipeline = RequestPipeline(Broken(server, answer), server.authentication)
    return await pipeline.reply(RawRequest(method, target, CIMultiDict(ADMIN), None, read))


async def test_an_error_of_our_own_is_an_answer_and_its_words_stay_inside(server, caplog):
    secret = "-".join(["pass", "word"])

    async def answer(context):
        raise ValueError(secret)

    with caplog.at_level(logging.ERROR):
        reply = await reply_of(server, answer)

    assert (reply.answer.status, body_of(reply)["reason"]) == (500, "InternalError")
    assert secret not in str(body_of(reply)) + caplog.text
    assert "ValueError" in caplog.text


async def test_an_answer_that_takes_too_long_is_given_up(server):
    async def answer(context):
        await asyncio.sleep(20)

    reply = await reply_of(server, answer, target="/api/v1/namespaces?timeout=5s")

    assert (reply.answer.status, body_of(reply)["reason"]) == (504, "Timeout")


async def test_a_write_goes_on_when_its_client_goes_away(server):
    written = asyncio.Event()

    async def answer(context):
        await asyncio.sleep(5)
        written.set()
        return ServerResponse(201, {})

    pipeline = asyncio.create_task(reply_of(server, answer, "POST"))
    await asyncio.sleep(1)
    pipeline.cancel()

    await asyncio.wait_for(written.wait(), 10)


async def test_who_shall_come_back_later_is_told_so(server):
    async def answer(context):
        raise errors.TooManyRequests("busy", reason="TooManyRequests", details={"retryAfterSeconds": 3})

    assert (await reply_of(server, answer)).retry_after == 3.0


# Acting as somebody else


async def test_who_may_do_everything_may_act_as_anybody(ask):
    target = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

    reply = await ask("POST", target, b"{}", Impersonate_User="bob", Impersonate_Group="team")

    assert body_of(reply)["status"]["userInfo"] == {"username": "bob", "groups": ["team", "system:authenticated"]}


async def test_a_service_account_has_its_own_groups(ask):
    target = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

    reply = await ask("POST", target, b"{}", Impersonate_User="system:serviceaccount:ns:sa")

    assert "system:serviceaccounts:ns" in body_of(reply)["status"]["userInfo"]["groups"]


async def test_who_acts_as_another_may_do_no_more_than_they(ask):
    assert (await ask("GET", CONFIG_MAPS, Impersonate_User="bob")).answer.status == 403


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"Impersonate_User": "bob"}, 'users "bob" is forbidden: User "alice" cannot impersonate resource "users"'),
        (
            {"Impersonate_User": "system:serviceaccount:ns:sa"},
            'serviceaccounts "sa" is forbidden: User "alice" cannot impersonate resource "serviceaccounts"',
        ),
    ],
)
async def test_others_may_not(ask, headers, message):
    reply = await ask("GET", "/version", user="alice", **headers)

    assert reply.answer.status == 403
    assert body_of(reply)["message"].startswith(message)


async def test_a_group_alone_is_nobody(ask):
    assert (await ask("GET", "/version", Impersonate_Group="team")).answer.status == 400


# The request line


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/api", "/api", {}),
        ("/api/v1/namespaces/de%66ault?a=1&b=&a=2", "/api/v1/namespaces/default", {"a": "1", "b": ""}),
        ("/x?labelSelector=a%3Db%2Cc", "/x", {"labelSelector": "a=b,c"}),
    ],
)
def test_split_target(target, path, query):
    assert split_target(target) == (path, query)

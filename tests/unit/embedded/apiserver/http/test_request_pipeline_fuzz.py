"""Random requests: whatever comes, the answer is no failure of the server, and what is refused leaves no trace."""

import asyncio

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict

from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.http.exchange import WatchStream
from fleetqueue.embedded.apiserver.http.request_pipeline import RawRequest, RequestPipeline
from fleetqueue.embedded.apiserver.http.responses import encoded
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.testing.virtual_time import VirtualTimeLoop

# Words that mean something to a server, and others that do not.
WORDS = """
api apis v1 apps batch namespaces default configmaps pods jobs deployments a status scale token watch nodes secrets
serviceaccounts customresourcedefinitions apiextensions.k8s.io selfsubjectaccessreviews authorization.k8s.io
openapi v2 v3 healthz version metrics
""".split()
ODD_PARTS = ["", "%00", "%2F", "%", "..", "é", "%ff", "a" * 300]
QUERY = """
watch limit continue labelSelector fieldSelector resourceVersion resourceVersionMatch timeout timeoutSeconds force
fieldManager dryRun fieldValidation pretty sendInitialEvents allowWatchBookmarks propagationPolicy gracePeriodSeconds
""".split()
VALUES = [
    "",
    "1",
    "0",
    "-1",
    "true",
    "x",
    "a=b",
    "a in (b",
    "metadata.name=a",
    "All",
    "Strict",
    "9" * 30,
    "5s",
    "Exact",
]
PATHS = ["/api/v1/namespaces/default/configmaps", "/apis/batch/v1/namespaces/default/jobs", "/api/v1/nodes"]
MEDIA = """
application/json application/yaml application/merge-patch+json application/json-patch+json text/html */* ;; é/é
application/strategic-merge-patch+json application/apply-patch+yaml application/vnd.kubernetes.protobuf
application/json;as=Table;v=v1;g=meta.k8s.io application/json;charset=x application/cbor
""".split()
FIELDS = """
apiVersion kind metadata name namespace labels finalizers ownerReferences managedFields spec data template containers
status op path value $patch $retainKeys resourceVersion uid
""".split()

known = st.sampled_from(PATHS)
parts = st.sampled_from(WORDS) | st.sampled_from(ODD_PARTS) | st.text(max_size=6)
paths = st.lists(parts, max_size=8).map(lambda found: "/" + "/".join(found)) | known | known.map("{}/a".format)
names = st.sampled_from(QUERY) | st.text(max_size=4)
values = st.sampled_from(VALUES) | st.text(max_size=8)
queries = st.lists(st.tuples(names, values), max_size=3)
methods = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", "X"])
media = st.sampled_from(["", *MEDIA]) | st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=12)

fields = st.sampled_from(FIELDS) | st.text(max_size=3)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6)
told = st.sampled_from(
    ["v1", "ConfigMap", "batch/v1", "Job", "a", "default", "delete", "add", "/data/a", "\x00", "\ud800"[:0]]
)
objects = st.recursive(
    scalars | told,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=4),
    max_leaves=12,
)
maps = st.fixed_dictionaries(
    {"apiVersion": told, "kind": told, "metadata": st.fixed_dictionaries({"name": told}, optional={"labels": objects})},
    optional={"data": objects, "spec": objects, "immutable": objects},
)


def dumped(value):
    try:
        return orjson.dumps(value)
    except TypeError:
        return repr(value).encode()  # a number beyond 64 bits: no JSON of ours, yet something that comes


bodies = st.one_of(
    (objects | maps).map(dumped),
    st.binary(max_size=40),
    st.binary(max_size=30).map(lambda tail: b"k8s\x00" + tail),
    (objects | maps).map(dumped).flatmap(lambda text: st.integers(0, len(text)).map(lambda end: text[:end])),
    st.sampled_from(
        [b"[" * 5000, b'{"a":' * 5000, b"a: &a [*a]", b"{a: *b}", b"- " * 3000, b"---\n---\n", b"!!python/x {}"]
    ),
)


class Server:
    def __init__(self):
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self.pipeline = self.runner.run(self._start())

    async def _start(self):
        secrets = Secrets(tokens={"admin": User("admin", (MASTERS,))})
        self.server = await new_server(secrets)
        return RequestPipeline(self.server.handler, self.server.authentication)

    def ask(self, method, target, body, headers):
        return self.runner.run(self._ask(method, target, body, headers))

    async def _ask(self, method, target, body, headers):
        async def read():
            return body

        sent = CIMultiDict({"Authorization": "Bearer admin", **headers})
        reply = await self.pipeline.reply(RawRequest(method, target, sent, None, read))
        if isinstance(reply.answer, WatchStream):
            await reply.answer.events.aclose()
            return 200
        encoded(reply.answer, reply.media_type, is_pretty=False)
        return reply.answer.status


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.runner.close()


@settings(max_examples=400)
@given(method=methods, path=paths, query=queries, body=bodies, content_type=media, accept=media)
@example("PATCH", "/api/v1/namespaces/default", [("timeout", "9" * 30)], b"{}", "application/apply-patch+yaml", "")
def test_no_request_makes_the_server_fail(server, method, path, query, body, content_type, accept):
    before = server.server.storage.revision
    target = path + ("?" + "&".join(f"{name}={value}" for name, value in query) if query else "")

    status = server.ask(method, target, body, {"Content-Type": content_type, "Accept": accept})

    assert status < 500
    if status >= 400 or method in ("GET", "HEAD"):
        assert server.server.storage.revision == before

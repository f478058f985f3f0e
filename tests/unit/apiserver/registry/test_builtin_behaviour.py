"""Every step of the cases in `behaviour`, done by us, is answered as the real server answered it."""

from urllib.parse import parse_qsl

import orjson
import pytest

from fleetqueue.api import errors
from fleetqueue.apiserver.admission.chain import Chain
from fleetqueue.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from fleetqueue.apiserver.auth.authentication import Credentials
from fleetqueue.apiserver.auth.users import User
from fleetqueue.apiserver.http.exchange import status_of
from fleetqueue.apiserver.server import ApiServer, Secrets
from fleetqueue.apiserver.storage.log import MemoryLog
from fleetqueue.apiserver.storage.storage import ClusterStorage
from tests.unit.apiserver.registry.behaviour.running import CASES, HERE, run

RECORDED = orjson.loads((HERE / "recorded.json").read_bytes())
ADMIN = User(
    "kubernetes-admin",
    ("system:masters",),
    extra={"authentication.kubernetes.io/credential-id": (f"X509SHA256={'0' * 64}",)},
)


@pytest.fixture
async def ask():
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets(tokens={"admin": ADMIN}))
    await server.start()
    # As the real server that was recorded: what kinds do by themselves is judged, not what admission adds to it.
    server.store.admission = Chain(NamespaceLifecycle(server._namespace))

    async def ask(method, path, body, media_type):
        path, _, query = path.partition("?")
        body = orjson.loads(orjson.dumps(body))
        try:
            answer = await server.answer(
                method,
                path,
                dict(parse_qsl(query)),
                credentials=Credentials(token="admin"),
                body=body,
                content_type=media_type,
            )
        except errors.ApiError as error:
            return error.code, status_of(error)
        return answer.status, answer.manifest

    return ask


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
async def test_a_case_is_answered_as_by_the_real_server(ask, case):
    answers = await run(ask, case, "the-namespace")

    assert [in_order(answer) for answer in answers] == [in_order(answer) for answer in RECORDED[case["name"]]]


def in_order(answer):
    """Put the causes into an order, each once: those from a map come in none, and some rules are asked twice there."""
    body = answer["body"]
    causes = (body.get("details") or {}).get("causes") if body.get("kind") == "Status" else None
    if not causes:
        return answer
    unique = sorted({tuple(sorted(cause.items())) for cause in causes})
    body = {**body, "details": {**body["details"], "causes": unique}, "message": sorted(body["message"])}
    return {**answer, "body": body}

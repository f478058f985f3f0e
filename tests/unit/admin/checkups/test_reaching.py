"""With which of the user's contexts a worker is looked at, and what a credential is used for."""

import pytest

from fleetqueue.admin.checkups.reaching import WorkerAccess, prove, visit
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret, secret
from fleetqueue.api.kueue_configuration import Configuration
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, render
from fleetqueue.controllers.credentials.worker_rules import rights_for
from fleetqueue.controllers.processes.capabilities import known_identity

URL = "https://c1.example:6443"
RIGHTS = rights_for([Configuration()], {})


def managed(url: str = URL) -> ManagedCluster:
    spec = {"managedClusterClientConfigs": [{"url": url}] if url else []}
    return ManagedCluster.view(ManagedCluster.manifest("c1", spec=spec))


def access(api, **servers: str) -> WorkerAccess:
    return WorkerAccess(lambda connection: Client(api), {name: Connection(url) for name, url in servers.items()})


@pytest.mark.parametrize(
    ("servers", "url", "candidates"),
    [
        pytest.param({"any": URL}, URL, [("any", True)], id="by its server"),
        pytest.param({"any": URL + "/", "c1": URL}, URL, [("c1", True), ("any", True)], id="its own name first"),
        pytest.param({"c1": "https://127.0.0.1:1"}, URL, [("c1", False)], id="by its name, to be asked who it is"),
        pytest.param({"c2": "https://127.0.0.1:1"}, URL, [], id="another"),
        pytest.param({"c2": ""}, "", [], id="it has no address"),
    ],
)
def test_a_context_opens_a_worker_by_its_server_or_its_name(servers, url, candidates):
    found = WorkerAccess(
        lambda connection: pytest.fail("nobody is asked"), {n: Connection(s) for n, s in servers.items()}
    )

    assert list(found.candidates(managed(url))) == candidates


async def test_a_worker_is_looked_at_by_its_context(api):
    seen = await visit(access(api, mine=URL), managed(), "", "kueue-system")

    assert (seen.context, seen.unasked) == ("mine", "")
    assert seen.version.startswith("v1.")


async def test_a_context_of_its_name_must_open_the_same_cluster(api):
    api.namespace("kube-system")
    uid = await known_identity(Client(api))
    other = access(api, c1="https://127.0.0.1:1")

    assert (await visit(other, managed(), uid, "kueue-system")).context == "c1"
    for unknown in ("another", ""):
        seen = await visit(other, managed(), unknown, "kueue-system")
        assert (seen.context, "opens another cluster" in seen.unasked) == ("", True)


async def test_a_worker_without_a_context_is_not_looked_at(api):
    seen = await visit(access(api), managed(), "", "kueue-system")

    assert seen.unasked == "no context of the kubeconfig has its server"
    assert api.requests == []


async def test_a_worker_that_cannot_be_reached_is_not_looked_at(api):
    api.cut()

    assert "refused" in (await visit(access(api, mine=URL), managed(), "", "kueue-system")).unasked


def credential(text: str = "") -> Secret:
    kubeconfig = text or render("c1", server=URL, ca=b"", token="t", user="u")
    return Secret.view(secret("s", "kueue-system", {"kubeconfig": kubeconfig}))


async def test_a_credential_is_used_for_reviews_and_discovery_alone(api):
    proof = await prove(lambda connection: Client(api), credential(), RIGHTS, {"c2": [], "c1": ["https://else", URL]})

    assert (proof.cluster, proof.denied, proof.unserved, proof.unasked) == ("c1", (), (), "")
    asked = [request for request in api.requests if not request.startswith("GET /api")]
    assert {request.split("/")[0] for request in asked} == {
        "create selfsubjectaccessreviews",
        "create selfsubjectreviews",
    }


async def test_a_refused_token_is_told(api):
    api.fail_on("*", errors.Unauthorized("no"))

    assert (await prove(lambda connection: Client(api), credential(), RIGHTS, {})).is_refused


async def test_a_worker_that_does_not_answer_from_here_tells_nothing(api):
    api.cut()

    proof = await prove(lambda connection: Client(api), credential(), RIGHTS, {})

    assert (proof.is_refused, proof.denied) == (False, ())
    assert "cannot be asked from here" in proof.unasked


async def test_what_is_no_kubeconfig_is_not_repeated(api):
    proof = await prove(lambda connection: Client(api), credential("hush"), RIGHTS, {})

    assert proof.unasked == "it holds no kubeconfig that can be read"

"""The same random writes of several managers on an embedded API and a real one: the same answers, the same owners."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetqueue.api.requests import MERGE_PATCH, Request
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.fleets.in_process import InProcessDoor
from fleetqueue.lab import ports
from fleetqueue.lab.pki import ensure_pki
from fleetqueue.lab.processes import Processes
from fleetqueue.real import layout
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.control_plane import PORTS, etcd, kube_apiserver
from tests.unit.embedded.apiserver.patching.machine_operations import NAME, START, Bodies

pytestmark = [pytest.mark.records, pytest.mark.timeout(900)]

COLLECTION = "/apis/apps/v1/namespaces/default/deployments"
UNLIKE = ("uid", "resourceVersion", "creationTimestamp")


@asynccontextmanager
async def real_door(folder):
    """An API server with its etcd, and no controller that would touch anything."""
    cluster = RealCluster("alone", folder / "alone", ports.assign(PORTS, {}), layout.require())
    processes = Processes(folder / "processes.json")
    cluster.folder.mkdir(mode=0o700)
    ensure_pki(cluster.name, cluster.pki)
    cluster.write_kubeconfigs()
    client = connect(load(cluster.kubeconfig))
    try:
        processes.start(etcd(cluster, fsync=False))
        await processes.up(kube_apiserver(cluster))
        yield client.door
    finally:
        await client.close()
        await processes.stop_all()


async def embedded_door():
    secrets = Secrets(tokens={"admin": User("admin", (MASTERS,))})
    server = await new_server(secrets)
    return InProcessDoor(server, RequestCredentials(token="admin"))


@pytest.fixture(scope="module")
def ask_both(tmp_path_factory):
    """Ask an embedded server one thing and a real one another: `ask_both(request, request)`."""
    if layout.find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        real = runner.run(stack.enter_async_context(real_door(tmp_path_factory.mktemp("real"))))
        doors = (runner.run(embedded_door()), real)

        async def ask(requests):
            return [await door.request(request, timeout=30) for door, request in zip(doors, requests, strict=True)]

        yield lambda *requests: runner.run(ask(requests))
        runner.run(stack.aclose())


def comparable(answer):
    """Return an answer without what no two servers have in common."""
    if answer.body.get("kind") == "Status":
        causes = sorted(answer.body.get("details", {}).get("causes", ()), key=str)
        # The real server tells conflicts with one manager in any order, in the causes and in the text.
        told = sorted(answer.body["message"].split("\n")) if not answer.body["message"].startswith("Apply") else ""
        return answer.status, answer.body.get("reason"), causes, told
    metadata = {name: value for name, value in answer.body["metadata"].items() if name not in UNLIKE}
    entries = [
        {key: value for key, value in entry.items() if key != "time"} for entry in metadata.get("managedFields", ())
    ]
    # Entries of the same second stand in the order of their names, and seconds pass differently.
    metadata["managedFields"] = sorted(entries, key=str)
    return answer.status, {**answer.body, "metadata": metadata}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(script=st.lists(Bodies(wild=True).operations(), min_size=1, max_size=12))
def test_random_writes_end_alike(ask_both, script):
    created = Request("POST", COLLECTION, {"fieldManager": "one"}, START)
    live = [answer.body for answer in ask_both(created, created)]
    try:
        for operation in script:
            ours, theirs = ask_both(*(operation.request(COLLECTION, one) for one in live))
            assert comparable(ours) == comparable(theirs), operation
            live = [one.body if one.status == 200 else was for one, was in zip((ours, theirs), live, strict=True)]
    finally:
        last = {"metadata": {"finalizers": None}}
        released = Request("PATCH", f"{COLLECTION}/{NAME}", {}, last, MERGE_PATCH)
        deleted = Request("DELETE", f"{COLLECTION}/{NAME}")
        ask_both(released, released)
        ask_both(deleted, deleted)

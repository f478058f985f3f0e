"""An embedded cluster with a real endpoint: a socket, TLS, and the kubeconfig of its administrator.

`endpoint` lives on the loop of a test; `cluster` beside the tests, for clients that block, and it is also a real one.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import yaml

from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.http.front_end import FrontEnd
from fleetqueue.embedded.apiserver.http.listener import server_context
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.lab.certificates import Authority
from fleetqueue.real import layout
from fleetqueue.testing.virtual_time import running
from tests.system.asking import check_answers_at

from .clusters import EmbeddedCluster, RealCluster

HOST = "127.0.0.1"


@dataclass
class Endpoint:
    server: ApiServer
    front_end: FrontEnd
    port: int
    authority: Authority
    folder: Path

    @property
    def url(self):
        return f"https://{HOST}:{self.port}"

    def trust(self, pair=None):
        """What a client needs to speak with it: its authority, and the client's own certificate if it has one."""
        context = ssl.create_default_context(cadata=self.authority.pem.certificate.decode())
        if pair is not None:
            path = self.folder / "client.pem"
            path.write_bytes(pair.key + pair.certificate)
            context.load_cert_chain(path)
        return context

    def session(self, name="admin", groups=("system:masters",), **options):
        """A connection of somebody who has a certificate."""
        context = self.trust(self.authority.client(name, groups))
        return aiohttp.ClientSession(self.url, connector=aiohttp.TCPConnector(ssl=context), **options)


@pytest.fixture
async def endpoint(tmp_path):
    authority = Authority.new("authority")
    tokens = {"admin": User("admin", (MASTERS,)), "alice": User("alice")}
    server = await new_server(Secrets(tokens=tokens))
    front_end = FrontEnd(server.handler, server.authentication)
    pair = authority.server("server", dns=["localhost"], addresses=[HOST])
    context = server_context(pair.certificate, pair.key, authority.pem.certificate)
    port = await front_end.start(HOST, 0, context)
    async with running(server.run()):
        yield Endpoint(server, front_end, port, authority, tmp_path)
        await front_end.stop()


@pytest.fixture
async def admin(endpoint):
    async with endpoint.session() as session:
        yield session


WITH_KUEUE = ("typed", "hub")
"""Fixtures that give a hub with Kueue, where they have its `kubeconfig`."""


@pytest.fixture(autouse=True)
def every_job_has_an_answer(request):
    """Ask after every test on a hub with Kueue: what one leaves may be gone with the next.

    The hubs are made first, and so are still there when they are asked.
    """
    hubs = [request.getfixturevalue(name) for name in WITH_KUEUE if name in request.fixturenames]
    yield
    for hub in hubs:
        if (kubeconfig := getattr(hub, "kubeconfig", None)) is not None:
            check_answers_at(kubeconfig)


CLUSTERS = [
    pytest.param(EmbeddedCluster, id="embedded"),
    pytest.param(RealCluster, id="kubernetes", marks=[pytest.mark.real, pytest.mark.timeout(300)]),
]


@pytest.fixture(scope="package", params=CLUSTERS)
def cluster(request, tmp_path_factory):
    """A fleet's hub with its controllers, reached by the kubeconfig that the fleet writes."""
    if request.param is RealCluster and layout.find() is None:
        pytest.skip("the real engine is not built: run `fleetqueue engine build`")
    cluster = request.param(tmp_path_factory.mktemp("cluster"))
    cluster.start()
    yield cluster
    cluster.close()


@pytest.fixture
def with_token(cluster, tmp_path):
    """Write a kubeconfig of somebody who has nothing but a token."""

    def write(token):
        content = yaml.safe_load(cluster.kubeconfig.read_text())
        content["users"][0]["user"] = {"token": token}
        path = tmp_path / "by-token"
        path.write_text(yaml.safe_dump(content))
        return path

    return write

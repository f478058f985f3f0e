"""An embedded cluster with a real endpoint: a socket, TLS, and the kubeconfig of its administrator."""

import asyncio
import base64
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import yaml

from fleetqueue.apiserver.auth.users import User
from fleetqueue.apiserver.http.front_end import FrontEnd
from fleetqueue.apiserver.http.tls import server_context
from fleetqueue.apiserver.server import ApiServer, Secrets
from fleetqueue.apiserver.storage.log import MemoryLog
from fleetqueue.apiserver.storage.storage import ClusterStorage
from fleetqueue.engine import layout
from fleetqueue.engine.certificates import Authority

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
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets(tokens={"alice": User("alice")}))
    await server.start()
    front_end = FrontEnd(server.handler, server.authentication)
    pair = authority.server("server", dns=["localhost"], addresses=[HOST])
    context = server_context(pair.certificate, pair.key, authority.pem.certificate)
    port = await front_end.start(HOST, 0, context)
    running = asyncio.create_task(server.run())
    yield Endpoint(server, front_end, port, authority, tmp_path)
    await front_end.stop()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
async def admin(endpoint):
    async with endpoint.session() as session:
        yield session


@pytest.fixture
def kubeconfig(endpoint, tmp_path):
    def text(content):
        return base64.b64encode(content).decode()

    pair = endpoint.authority.client("admin", ["system:masters"])
    cluster = {"server": endpoint.url, "certificate-authority-data": text(endpoint.authority.pem.certificate)}
    user = {"client-certificate-data": text(pair.certificate), "client-key-data": text(pair.key)}
    path = tmp_path / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def kubectl(kubeconfig, tmp_path):
    """Run kubectl of the engine, as if for the first time: `await kubectl("get", "nodes")`; what it printed."""
    program = layout.planned().binary("kubectl")
    if not program.is_file():
        pytest.skip("kubectl is not built: run `fleetqueue engine build`")
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path), "NO_COLOR": "1"}

    async def run(*arguments, content=None, code=0):
        process = await asyncio.create_subprocess_exec(
            str(program),
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environ,
        )
        output, _ = await process.communicate(content.encode() if content else None)
        assert process.returncode == code, output.decode()
        return output.decode()

    def without_certificate():
        """Return a kubeconfig that says nothing of who one is."""
        content = yaml.safe_load(kubeconfig.read_text())
        content["users"] = [{"name": "u", "user": {}}]
        path = tmp_path / "nobody"
        path.write_text(yaml.safe_dump(content))
        return str(path)

    run.program, run.environ, run.without_certificate = program, environ, without_certificate
    return run

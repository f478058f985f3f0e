"""An embedded API server on a port of this machine, with TLS: what the cases are asked over HTTP."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fleetqueue.embedded.apiserver.http.front_end import FrontEnd
from fleetqueue.embedded.apiserver.http.listener import server_context
from fleetqueue.embedded.apiserver.server import ApiServer, Secrets
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.apiserver.storage.storage import ClusterStorage
from fleetqueue.lab.certificates import Authority
from tests.conformance.api_cases.http_door import OverHttp, session_of
from tests.conformance.api_cases.in_process_door import ADMIN

HOST = "127.0.0.1"
SILENCE = 0.2
"""Seconds without an event after which none will come."""


class Trust:
    """The certificates of one authority: the server's own, and the administrator's."""

    def __init__(self) -> None:
        authority = Authority.new("authority")
        pair = authority.server("server", dns=["localhost"], addresses=[HOST])
        self.server = server_context(pair.certificate, pair.key, authority.pem.certificate)
        self.nobody = ssl.create_default_context(cadata=authority.pem.certificate.decode())
        self.admin = ssl.create_default_context(cadata=authority.pem.certificate.decode())
        client = authority.client(ADMIN.name, list(ADMIN.groups))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "client.pem"
            path.write_bytes(client.key + client.certificate)
            self.admin.load_cert_chain(path)


@asynccontextmanager
async def over_http(trust: Trust) -> AsyncIterator[OverHttp]:
    """Start a server in memory; the door is the administrator's."""
    server = ApiServer(await ClusterStorage.open(MemoryLog()), Secrets())
    await server.start()
    front_end = FrontEnd(server.handler, server.authentication)
    url = f"https://{HOST}:{await front_end.start(HOST, 0, trust.server)}"
    running = asyncio.create_task(server.run())

    async def forget() -> None:
        await server.storage.compact(server.storage.revision)

    async with session_of(trust.admin) as admin, session_of(trust.nobody) as nobody:
        yield OverHttp(url, admin, nobody, forget, SILENCE)
    await front_end.stop()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

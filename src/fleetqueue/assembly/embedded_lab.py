"""A fleet of embedded clusters on this machine: one process, and for each cluster a TLS endpoint and a kubeconfig.

Usage of the file itself, by `fleetqueue up --engine embedded --detach`:
python -m fleetqueue.assembly.embedded_lab <data dir> <settings as JSON>

What a cluster is lies in its folder (`store.db`, `pki/`), so that a second start on the same folder goes on with all of
it. In memory, only the kubeconfigs are written.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fleetqueue import clock
from fleetqueue.apiserver.auth.users import MASTERS, User
from fleetqueue.apiserver.http.front_end import FrontEnd
from fleetqueue.apiserver.http.tls import server_context
from fleetqueue.apiserver.server import ApiServer, Secrets
from fleetqueue.apiserver.storage.log import Log, MemoryLog
from fleetqueue.apiserver.storage.sqlite import SqliteLog, writer_thread
from fleetqueue.apiserver.storage.storage import ClusterStorage
from fleetqueue.assembly.cluster_parts import cluster_parts
from fleetqueue.engine import control, kubeconfigs, ports
from fleetqueue.engine.fleet import HUB, cluster_names
from fleetqueue.engine.pki import ensure_pki, read_pair
from fleetqueue.engine.processes import Status
from fleetqueue.engine.state import Ownership, read_json, refuse_other_engine, write_json, write_private
from fleetqueue.engine.supervisor import serve

Report = Callable[[str], None]
API: Final = "apiserver"
PARTS: Final = User("system:kube-controller-manager", (MASTERS,))


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """How a fleet is made up; kept with its state."""

    workers: int = 3
    in_memory: bool = False
    engine: str = "embedded"

    @property
    def clusters(self) -> tuple[str, ...]:
        return cluster_names(self.workers)


class Endpoint:
    """One cluster that can be reached by TLS."""

    def __init__(self, name: str, folder: Path, port: int) -> None:
        self.name = name
        self.folder = folder
        self.port = port
        self._open = AsyncExitStack()

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def url(self) -> str:
        return f"https://{ports.LOOPBACK}:{self.port}"

    @property
    def kubeconfig(self) -> kubeconfigs.Kubeconfig:
        authority = (self.pki / "ca.crt").read_bytes()
        return kubeconfigs.kubeconfig(self.name, self.url, authority, read_pair(self.pki, "admin"))

    async def start(self, log: Log) -> None:
        """Open the storage, serve it, and write the administrator's kubeconfig."""
        ensure_pki(self.name, self.pki)
        storage = await ClusterStorage.open(log)
        self._open.push_async_callback(storage.close)
        token = clock.uid()
        server = ApiServer(storage, Secrets(_signing_key(self.pki / "sa.key"), {token: PARTS}))
        await server.start()
        self._keep(server.run(), "API")
        parts = cluster_parts(self.name, server, token=token, ca=(self.pki / "ca.crt").read_text())
        self._keep(parts.run(), "parts")
        front_end = FrontEnd(server.handler, server.authentication)
        context = server_context(self.pki / "apiserver.crt", self.pki / "apiserver.key", self.pki / "ca.crt")
        await front_end.start(ports.LOOPBACK, self.port, context)
        self._open.push_async_callback(front_end.stop)
        write_private(self.folder / "kubeconfig", kubeconfigs.dump(self.kubeconfig))

    async def stop(self) -> None:
        """The endpoint first, the storage last."""
        await self._open.aclose()

    def _keep(self, work: Coroutine[Any, Any, None], what: str) -> None:
        task = asyncio.create_task(work, name=f"{self.name} {what}")
        self._open.push_async_callback(_end, task)


class EmbeddedLab:
    """All clusters of a fleet, in the form that a Supervisor keeps up."""

    def __init__(
        self,
        data_dir: Path,
        settings: EmbeddedSettings,
        *,
        report: Report = lambda line: None,
        on_up: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_up` is called once everything is up."""
        self.data_dir = data_dir.absolute()
        self.settings = settings
        self.report = report
        self.on_up = on_up
        self.ownership = Ownership(self.data_dir)
        self.endpoints: dict[str, Endpoint] = {}
        self._writer = writer_thread()

    async def start(self) -> None:
        """Bring everything up; if anything fails, nothing stays open."""
        self.ownership.take()
        try:
            refuse_other_engine(self.data_dir, self.settings.engine)
            self.endpoints = self._place()
            for endpoint in self.endpoints.values():
                await endpoint.start(self._log(endpoint))
                self.report(f"{endpoint.name} answers at {endpoint.url}")
            self._write_kubeconfig()
        except BaseException:
            await self.stop()
            raise
        self.on_up()

    async def stop(self) -> None:
        for endpoint in reversed(self.endpoints.values()):
            await endpoint.stop()
        self._writer.shutdown()
        self.ownership.release()

    def status(self) -> list[Status]:
        """How every cluster is; they all live in this process."""
        return [Status(f"{one.name}/{API}", os.getpid(), "up", one.port) for one in self.endpoints.values()]

    def _place(self) -> dict[str, Endpoint]:
        """Give every cluster its folder and its port, the same one as last time where it is free."""
        book = self.data_dir / "ports.json"
        assigned = ports.assign([f"{name}/{API}" for name in self.settings.clusters], read_json(book, {}))
        write_json(book, assigned)
        write_json(self.data_dir / "fleet.json", asdict(self.settings))
        return {
            name: Endpoint(name, self.data_dir / name, assigned[f"{name}/{API}"]) for name in self.settings.clusters
        }

    def _log(self, endpoint: Endpoint) -> Log:
        if self.settings.in_memory:
            return MemoryLog()
        endpoint.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return SqliteLog(endpoint.folder / "store.db", self._writer)

    def _write_kubeconfig(self) -> None:
        configs = [endpoint.kubeconfig for endpoint in self.endpoints.values()]
        aliases = kubeconfigs.aliases(HUB, self.settings.clusters[1:])
        write_private(self.data_dir / "kubeconfig", kubeconfigs.dump(kubeconfigs.merged(configs, aliases)))


async def start_in_background(data_dir: Path, settings: EmbeddedSettings, report: Report) -> None:
    """Start a fleet that goes on when we end; returns when it is up."""
    await control.start_in_background(data_dir, settings, report, module="fleetqueue.assembly.embedded_lab")


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _signing_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def main() -> int:
    settings = EmbeddedSettings(**orjson.loads(sys.argv[2]))
    return serve(lambda log: EmbeddedLab(Path(sys.argv[1]), settings, report=log))


if __name__ == "__main__":
    sys.exit(main())

"""A real hub without anything that lives on it: etcd and kube-apiserver, filled by writing into etcd.

Kueue is off, so that nobody but the measured process works. Objects are written as JSON straight into etcd, through the
gateway of its socket: tens of thousands in a minute, where the API server takes some hundred a second. The API server
has no watch cache: with one it would need several GB for as many Workloads, and what it sends is the same.
"""

import base64
import http.client
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.lab import forwarder, ports
from fleetqueue.lab.pki import ensure_pki
from fleetqueue.lab.processes import Command, Processes
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real import control_plane
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.layout import require
from fleetqueue.testing.real_servers import bare

SYSTEMS = ("kueue", "ocm-hub")
BATCH = 60
"""Objects in one transaction of etcd: it takes 1.5 MB at once."""


class Hub:
    def __init__(self, folder: Path) -> None:
        self.cluster = RealCluster("hub", folder, ports.assign(("kube-apiserver", "forwarder"), {}), require())
        self.processes = Processes(folder / "processes.json")
        self.client: Client

    @classmethod
    @asynccontextmanager
    async def up(cls, folder: Path) -> AsyncIterator["Hub"]:
        hub = cls(folder)
        ensure_pki("hub", hub.cluster.pki)
        hub.cluster.write_kubeconfigs()
        hub.processes.start(control_plane.etcd(hub.cluster, fsync=False))
        try:
            await hub.processes.up(bare(control_plane.kube_apiserver(hub.cluster)))
            hub.processes.start(hub._forwarder())
            hub.client = connect(load(hub.cluster.kubeconfig))
            definitions = [definition for system in SYSTEMS for definition in crds(system)]
            async with hub.cluster.api() as api:
                await api.ensure_all(definitions)
                await api.wait_served(definitions)
            yield hub
            await hub.client.close()
        finally:
            await hub.processes.stop_all()

    @property
    def kubeconfig(self) -> Path:
        """For the measured process: its connections can be broken."""
        return self.cluster.remote_kubeconfig

    def fill(self, resource: Resource, manifests: Iterable[Manifest]) -> None:
        """Write objects into etcd."""
        connection = _Socket(self.cluster.folder / "etcd.sock:0")
        batch: list[Any] = []
        for manifest in manifests:
            metadata = manifest["metadata"]
            group = f"{resource.group}/" if resource.group else ""
            place = f"{metadata['namespace']}/{metadata['name']}" if resource.namespaced else metadata["name"]
            plural = "minions" if resource.plural == "nodes" else resource.plural
            put = {"key": _text(f"/registry/{group}{plural}/{place}".encode()), "value": _text(orjson.dumps(manifest))}
            batch.append({"requestPut": put})
            if len(batch) == BATCH:
                connection.ask("/v3/kv/txn", {"success": batch})
                batch = []
        if batch:
            connection.ask("/v3/kv/txn", {"success": batch})
        connection.close()

    async def expire_watches(self) -> None:
        """Let etcd forget the past, and break all connections of the measured process: it lists everything anew."""
        connection = _Socket(self.cluster.folder / "etcd.sock:0")
        found = connection.ask("/v3/kv/range", {"key": _text(b"\0"), "range_end": _text(b"\0"), "count_only": True})
        connection.ask("/v3/kv/compaction", {"revision": found["header"]["revision"], "physical": True})
        connection.close()
        await self.processes.stop("hub/forwarder")
        self.processes.start(self._forwarder())

    def _forwarder(self) -> Command:
        listen, target = (str(self.cluster.ports[name]) for name in ("forwarder", "kube-apiserver"))
        arguments = (sys.executable, forwarder.__file__, listen, target)
        return Command("hub/forwarder", arguments, self.cluster.folder / "forwarder.log")


class _Socket(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))

    def ask(self, path: str, body: Any) -> Any:
        self.request("POST", path, orjson.dumps(body))
        response = self.getresponse()
        answer = orjson.loads(response.read())
        if response.status != 200:
            raise RuntimeError(f"etcd answers {path} with {answer}")
        return answer


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()

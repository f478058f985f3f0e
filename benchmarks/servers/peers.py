"""The two servers, each in processes of its own: started, asked whether they are ready, looked at, ended.

Both are started in the same way: in sessions of their own, by which the kernel shares out a busy machine.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Protocol

from fleetqueue.lab import ports
from fleetqueue.lab.pki import ensure_pki
from fleetqueue.lab.processes import Command, Processes
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.control_plane import PORTS, etcd, kube_apiserver
from fleetqueue.real.layout import require
from servers.requests import Connection, request

HERE = Path(__file__).parent
READY = request("GET", "/readyz")
READY_SECONDS = 60.0


class Server(Protocol):
    """One of the two."""

    name: str
    folder: Path
    port: int
    seconds: float
    """From its start until it was ready."""

    @property
    def pids(self) -> list[int]: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Ours:
    name = "ours"

    def __init__(self, folder: Path, *, clusters: int = 1, storage: str = "sqlite") -> None:
        self.folder = folder
        self.clusters = clusters
        self.storage = storage
        self.port = free_row(clusters)
        self.seconds = 0.0
        self.processes = Processes(folder / "processes.json")
        ensure_pki(self.name, folder / "pki")

    def start(self) -> None:
        arguments = (str(self.folder), str(self.port), str(self.clusters), self.storage)
        command = Command("ours/apiserver", (sys.executable, str(HERE / "ours.py"), *arguments), self.folder / "log")
        began = perf_counter()
        self.processes.start(command)
        wait_until_ready(self.port + self.clusters - 1, self.folder / "pki")
        self.seconds = perf_counter() - began

    def stop(self) -> None:
        self.processes.kill_all()

    @property
    def pids(self) -> list[int]:
        return [running.process.pid for running in self.processes.running.values()]


class Real:
    name = "etcd and kube-apiserver"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds = 0.0
        self.cluster = RealCluster("real", folder, ports.assign(PORTS, {}), require())
        self.processes = Processes(folder / "processes.json")
        self.port = self.cluster.ports["kube-apiserver"]
        ensure_pki(self.cluster.name, self.cluster.pki)

    def start(self) -> None:
        began = perf_counter()
        self.processes.start(etcd(self.cluster, fsync=True))
        self.processes.start(kube_apiserver(self.cluster))
        wait_until_ready(self.port, self.folder / "pki")
        self.seconds = perf_counter() - began

    def stop(self) -> None:
        asyncio.run(self.processes.stop_all())

    @property
    def pids(self) -> list[int]:
        return [running.process.pid for running in self.processes.running.values()]


@contextmanager
def folder(disk: Path | None) -> Iterator[Path]:
    """A new folder on the disk that is measured."""
    with tempfile.TemporaryDirectory(prefix="fleetqueue-bench-", dir=disk) as name:
        yield Path(name)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


def generate(server: Server, what: str, *arguments: str | int) -> dict[str, Any]:
    """Let another process ask a server."""
    command = [sys.executable, "-m", "servers.generator", str(server.port), str(server.folder / "pki"), what]
    ended = subprocess.run([*command, *map(str, arguments)], cwd=HERE.parent, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(ended.stderr)
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def wait_until_ready(port: int, pki: Path) -> None:
    until = perf_counter() + READY_SECONDS
    while perf_counter() < until:
        with contextlib.suppress(OSError, ValueError):
            if Connection(port, pki).ask(READY)[0] == 200:
                return
        sleep(0.005)
    raise RuntimeError(f"nobody was ready on port {port} within {READY_SECONDS:.0f} s")


def free_row(length: int) -> int:
    """The first of so many ports in a row that are free."""
    row = range(ports.FIRST, ports.LAST - length)
    return next(first for first in row if all(ports.is_free(first + number) for number in range(length)))


def memory(pids: list[int]) -> float:
    """The resident memory of processes, in megabytes."""
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

"""The port of a fleet's dashboard, which is served from the moment in which somebody asks for it.

A fleet only listens on it. When the first browser connects, `fleetqueue dashboard` is started with the open socket, and
answers that one and all others; it ends with the fleet. So a dashboard that nobody looks at costs nothing.

The port is kept with the state of the fleet, and the token is drawn anew at each start. Both stand in a file that only
the owner of the folder may read.
"""

import asyncio
import secrets
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fleetqueue.lab import ports
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.processes import launched
from fleetqueue.lab.state import read_json, write_json

FILE: Final = "dashboard.json"
LOG: Final = "dashboard.log"


def link(data_dir: Path) -> str:
    """Return what a person opens; empty where no fleet listens."""
    kept = read_json(data_dir / FILE, {})
    return f"http://{ports.LOOPBACK}:{kept['port']}/#token={kept['token']}" if kept.get("token") else ""


class DashboardSocket:
    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._token = secrets.token_urlsafe(32)
        self._socket: socket.socket

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen while the block runs. Who connects is answered when `serve` runs."""
        file = self.data_dir / FILE
        kept = read_json(file, {})
        (port,) = ports.assign(["dashboard"], {"dashboard": kept["port"]} if kept else {}).values()
        with socket.create_server((ports.LOOPBACK, port)) as self._socket:
            write_json(file, {"port": port, "token": self._token})
            try:
                yield
            finally:
                write_json(file, {"port": port})

    async def serve(self) -> None:
        """Start the dashboard when somebody connects, and end it when this is cancelled."""
        await self._connected()
        descriptor = self._socket.fileno()
        command = ("dashboard", "--kubeconfig", str(self.data_dir / "kubeconfig"), "--context", HUB)
        with (self.data_dir / LOG).open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *launched(sys.executable, "-m", "fleetqueue", *command, "--socket", str(descriptor)),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(descriptor,),
                start_new_session=True,
            )
        try:
            await process.communicate(self._token.encode())
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()

    async def _connected(self) -> None:
        """Wait until somebody connects, and leave the connection to the dashboard."""
        loop, connected = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._socket, connected.set)
        try:
            await connected.wait()
        finally:
            loop.remove_reader(self._socket)

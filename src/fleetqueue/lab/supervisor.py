"""Run a fleet until somebody asks for its end, and answer questions about it meanwhile.

Usage: python -m fleetqueue.lab.supervisor <data dir> <settings as JSON>

The same code serves `up` in the foreground and `up --detach`, where it is a process of its own. It answers on a socket
in the data folder, which only the owner of the folder can reach: one line of JSON asks, one line answers. All processes
of the fleet are its children and end with it.
"""

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import orjson

from fleetqueue.lab.control import SOCKET, reachable
from fleetqueue.lab.dashboard_socket import DashboardSocket
from fleetqueue.lab.errors import EngineError, NoProcess
from fleetqueue.lab.processes import ProcessStatus
from fleetqueue.lab.state import Ownership

Report = Callable[[str], None]

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SupervisedFleet(Protocol):
    """What a Supervisor keeps up: real clusters, or embedded ones."""

    data_dir: Path
    ownership: Ownership
    report: Report

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def status(self) -> list[ProcessStatus]: ...

    async def restart(self, name: str) -> None: ...

    def pause(self, name: str) -> None: ...

    def resume(self, name: str) -> None: ...

    async def cut(self, cluster: str, how: Literal["refuse", "hang"] = "refuse") -> None: ...

    async def heal(self, cluster: str) -> None: ...


class Supervisor:
    """Keeps one fleet up, and answers on its socket."""

    def __init__(self, fleet: SupervisedFleet) -> None:
        self.fleet = fleet
        self.state = "starting"
        self.lines: list[str] = []
        self.finished = asyncio.Event()
        self.tell = fleet.report
        fleet.report = self.report

    def report(self, line: str) -> None:
        """Keep what the fleet says for those who ask later, and pass it on."""
        self.lines.append(line)
        self.tell(line)

    async def run(self) -> bool:
        """Start the fleet, keep it until the end is asked for, stop it; return whether it was ever up."""
        loop = asyncio.get_running_loop()
        for number in ENDING_SIGNALS:
            loop.add_signal_handler(number, self.finished.set)
        self.fleet.ownership.take()  # before the socket: only the owner may replace it
        path = self.fleet.data_dir / SOCKET
        path.unlink(missing_ok=True)
        try:
            with reachable(self.fleet.data_dir) as address:
                server = await asyncio.start_unix_server(self.converse, address)
            dashboard = DashboardSocket(self.fleet.data_dir)
            async with server:
                with dashboard.listening():
                    return await self.keep_up(dashboard)
        finally:
            path.unlink(missing_ok=True)
            self.fleet.ownership.release()
            for number in ENDING_SIGNALS:
                loop.remove_signal_handler(number)

    async def keep_up(self, dashboard: DashboardSocket) -> bool:
        """Start, wait for the end, stop; return whether it was ever up."""
        if not await self.started_before_the_end():
            return False
        self.state = "up"
        serving = asyncio.create_task(dashboard.serve())
        await self.finished.wait()
        serving.cancel()
        await asyncio.wait([serving])
        self.state = "stopping"
        await self.fleet.stop()
        return True

    async def started_before_the_end(self) -> bool:
        """Start the fleet; a request for the end that comes meanwhile ends the start."""
        starting = asyncio.create_task(self.fleet.start())
        asked = asyncio.create_task(self.finished.wait())
        try:
            await asyncio.wait({starting, asked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            return False
        await starting
        return True

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            line = await reader.readline()
            if line:
                writer.write(orjson.dumps(await self.answer(line)) + b"\n")
                await writer.drain()
        except ConnectionError:
            pass  # whoever asked has gone
        finally:
            writer.close()

    async def answer(self, line: bytes) -> dict[str, Any]:
        """Do what is asked; errors travel as text."""
        try:
            request = orjson.loads(line)
            return {"value": await self.do(request["do"], request.get("arguments", []))}
        except EngineError as error:
            return {"error": str(error), "is_missing": isinstance(error, NoProcess)}
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            return {"error": f"the request was not understood: {error!r}"}

    async def do(self, verb: str, arguments: list[str]) -> Any:
        """Do one thing."""
        fleet = self.fleet
        match verb:
            case "status":
                return {"state": self.state, "lines": self.lines, "processes": fleet.status()}
            case "stop":
                self.finished.set()
            case "restart":
                await fleet.restart(*arguments)
            case "pause":
                fleet.pause(*arguments)
            case "resume":
                fleet.resume(*arguments)
            case "cut":
                await fleet.cut(*arguments)  # type: ignore[arg-type]  # checked by the fleet
            case "heal":
                await fleet.heal(*arguments)
            case _:
                raise EngineError(f'a fleet cannot "{verb}"; it can status, stop, restart, pause, resume, cut and heal')
        return None


def serve(fleet_of: Callable[[Report], SupervisedFleet]) -> int:
    """Run a fleet that nobody holds in a terminal; its reports go to its log."""

    def log(line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    async def work() -> None:
        await Supervisor(fleet_of(log)).run()

    try:
        asyncio.run(work())
    except EngineError as error:
        log(f"error: {error}")
        return 1
    return 0

"""Speak with a fleet that runs in another process: start one in the background, ask it, end it."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import orjson

from fleetqueue.lab.errors import EngineError, NoFleet, NoProcess
from fleetqueue.lab.processes import Processes, ProcessStatus, log_tail
from fleetqueue.lab.state import Ownership, delete_state, option, refuse_running

SOCKET: Final = "control.sock"
LONGEST: Final = 100

# Questions come often at first, since an embedded fleet is up and down within a second.
FIRST_POLL_SECONDS: Final = 0.01
POLL_SECONDS: Final = 0.1
# From a cold disk on two busy cores a large fleet may take a minute; five mean that something hangs.
START_SECONDS: Final = 300.0
STOP_SECONDS: Final = 60.0


@contextmanager
def reachable(folder: Path) -> Generator[str, None, None]:
    """An address for the socket in a folder, good as long as the block runs."""
    path = str(folder / SOCKET)
    if len(path.encode()) <= LONGEST:
        yield path
        return
    if not Path("/proc/self/fd").is_dir():
        raise EngineError(f"the path {path} is too long for a socket; choose a data folder with a shorter one")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


async def start_in_background(data_dir: Path, settings: Any, report: Callable[[str], None], *, module: str) -> None:
    """Start a fleet that goes on when we end; returns when it is up.

    The module runs it: `python -m <module> <data dir> <settings as JSON>`.
    """
    refuse_running(data_dir)  # here, where the user sees it
    log = data_dir / "supervisor.log"
    process = spawn(module, data_dir, settings, log)
    try:
        await wait_until_up(data_dir, process, log, report)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    process.returncode = 0  # it is meant to outlive us; Popen would complain about a child that is still running


def spawn(module: str, data_dir: Path, settings: Any, log: Path) -> subprocess.Popen[bytes]:
    """Start a supervisor in a session of its own, so that it outlives the terminal."""
    command = (sys.executable, "-m", module, str(data_dir), orjson.dumps(asdict(settings)))
    with log.open("wb") as output:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)


async def wait_until_up(
    data_dir: Path, process: subprocess.Popen[bytes], log: Path, report: Callable[[str], None]
) -> None:
    """Pass on what the starting fleet says until it is up."""
    reported_count = 0
    async with asyncio.timeout(START_SECONDS):
        for pause in pauses():
            if process.poll() is not None:
                raise EngineError(f"the fleet in {data_dir} did not start; {log_tail(log)}")
            answer = await ask_if_there(data_dir, "status")
            lines = answer["lines"] if answer else []
            for line in lines[reported_count:]:
                report(line)
            reported_count = len(lines)
            if answer and answer["state"] == "up":
                return
            await asyncio.sleep(pause)


async def status(data_dir: Path) -> list[ProcessStatus]:
    """How every process of a running fleet is."""
    answer = await ask(data_dir, "status")
    return [ProcessStatus(**entry) for entry in answer["processes"]]


async def down(data_dir: Path, *, delete: bool = False) -> None:
    """End a fleet, wherever it runs, and what an earlier one left behind; forget its state if asked to."""
    ownership = Ownership(data_dir)
    if await ask_if_there(data_dir, "stop") is None:
        ownership.take()  # an owner without a socket is a program that holds a fleet of its own: say so
    else:
        await take_when_free(ownership)
    try:
        await Processes(data_dir / "processes.json").end_leftovers()
        if delete:
            delete_state(data_dir)
    finally:
        ownership.release()


async def take_when_free(ownership: Ownership) -> None:
    """Wait until the process that runs the fleet has gone."""
    until = time.monotonic() + STOP_SECONDS
    for pause in pauses():
        try:
            ownership.take()
            return
        except EngineError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(pause)


def pauses() -> Iterator[float]:
    """How long to wait before each new question, without an end."""
    pause = FIRST_POLL_SECONDS
    while True:
        yield pause
        pause = min(pause * 1.1, POLL_SECONDS)


async def ask(data_dir: Path, verb: str, *arguments: str) -> Any:
    """Ask a running fleet to do something: status, stop, restart, pause, resume, cut or heal."""
    try:
        return await converse(data_dir, verb, *arguments)
    except (FileNotFoundError, ConnectionError) as error:
        raise NoFleet(f"no fleet runs in {data_dir}; start one with `fleetqueue up{option(data_dir)}`") from error


async def ask_if_there(data_dir: Path, verb: str) -> Any:
    """Ask, and take silence for None."""
    try:
        return await converse(data_dir, verb) or {}
    except (FileNotFoundError, ConnectionError):
        return None


async def converse(data_dir: Path, verb: str, *arguments: str) -> Any:
    """Send one request and read its answer."""
    with reachable(data_dir) as address:
        # A status of a hundred clusters is one line, and longer than the default limit.
        reader, writer = await asyncio.open_unix_connection(address, limit=16 * 1024 * 1024)
    try:
        writer.write(orjson.dumps({"do": verb, "arguments": arguments}) + b"\n")
        await writer.drain()
        line = await reader.readline()
    finally:
        writer.close()
    if not line:
        raise ConnectionResetError("the fleet ended before it answered")
    answer = orjson.loads(line)
    if "error" in answer:
        raise (NoProcess if answer.get("is_missing") else EngineError)(answer["error"])
    return answer["value"]

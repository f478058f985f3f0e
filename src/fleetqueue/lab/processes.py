"""Run plain processes: start, wait until ready, stop in order, and never leave one behind.

Three things keep a process from outliving its fleet. `stop_all` ends everything in order. If our own process dies, even
by kill -9, the kernel ends the children, because each was started through `launcher.py`; it does so when the *thread*
that started them ends, which is the thread of the event loop. And everything started is written down with its pid and
its start time, so that the next start, or `down`, ends what is left where the kernel has no such help. A process is
never looked for by its name.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Final

from fleetqueue.lab import pids
from fleetqueue.lab.errors import EngineError, NoProcess
from fleetqueue.lab.probes import Probe
from fleetqueue.lab.state import read_json, write_json

TAIL_LINES: Final = 15
LARGE_BYTES: Final = 20_000_000
# What a log says, and what to do about it.
ADVICE: Final = {
    "inotify: too many open files": (
        "The limit of this user's inotify instances is used up (a fleet with three workers needs eight): "
        "stop another fleet, or raise it with `sudo sysctl fs.inotify.max_user_instances=1024`"
    ),
    "address already in use": "Something took the port after it was chosen: start again, and another one is chosen",
    "no space left on device": "The disk is full: free some space, or choose another data folder",
}

LAUNCHER: Final = Path(__file__).with_name("launcher.py")
POLL_SECONDS: Final = 0.05
# A controller that is asked to end while it starts takes half a minute; all of them survive kill -9.
STOP_SECONDS: Final = 5.0
# Two busy cores that start a large fleet need a good part of it; an idle machine a few seconds.
READY_SECONDS: Final = 120.0


def launched(*arguments: str, watches_files: bool = False) -> tuple[str, ...]:
    """Return the command line of a program that the kernel ends when we end."""
    watch = "watch" if watches_files else "no-watch"
    return (sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), watch, *arguments)


class Tier(IntEnum):
    """What stands on what: higher tiers are stopped first, a tier at once."""

    STORAGE = 0
    API = 1
    CONTROLLER = 2


@dataclass(frozen=True, slots=True)
class Command:
    """One process as it is to be started."""

    name: str
    """Cluster and program: `hub/kueue`."""

    arguments: tuple[str, ...]
    log: Path
    tier: Tier = Tier.CONTROLLER
    port: int | None = None
    """The port that a person would want to know."""

    probe: Probe | None = None
    """What it answers when it is ready; without one it is ready as soon as it runs."""

    folder: Path | None = None
    """Where it runs; sockets of one cluster are named relative to its folder, because their paths may not be long."""

    watches_files: bool = False
    """Whether it needs inotify, of which a user has little; see `launcher.py`."""

    environ: Mapping[str, str] = field(default_factory=dict)
    stop_seconds: float = STOP_SECONDS
    """How long it may take to end by itself."""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One process as it is."""

    name: str
    pid: int | None
    state: str
    """up, paused, or down with the exit code."""

    port: int | None


@dataclass(slots=True)
class RunningProcess:
    """A command and the process that it became."""

    command: Command
    process: subprocess.Popen[bytes]
    paused: bool = False


class Processes:
    """All processes of one fleet."""

    def __init__(self, record: Path) -> None:
        self.record = record
        self.running: dict[str, RunningProcess] = {}

    def start(self, command: Command) -> None:
        """Start a process; its output is appended to its log."""
        self.check_not_up(command.name)
        make_room(command.log)
        launch = launched(*command.arguments, watches_files=command.watches_files)
        with command.log.open("ab") as log:
            process = subprocess.Popen(
                launch,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=command.folder,
                env={**os.environ, **command.environ},
                start_new_session=True,  # a Ctrl-C in the terminal is for us; we end them in order
            )
        self.running[command.name] = RunningProcess(command, process)
        self.write_record()

    async def up(self, command: Command) -> None:
        """Start a process and wait until it is ready."""
        self.start(command)
        await self.ready(command.name)

    def check_not_up(self, name: str) -> None:
        """Refuse to start the same thing twice."""
        known = self.running.get(name)
        if known is not None and known.process.poll() is None:
            raise EngineError(f'process "{name}" is already up with pid {known.process.pid}; restart it instead')

    async def ready(self, name: str, probe: Probe | None = None, limit: float = READY_SECONDS) -> None:
        """Wait until a process is ready, or until another probe that depends on it says yes.

        An early exit or the limit is an error with the tail of the log.
        """
        running = self.get(name)
        probe = probe or running.command.probe
        until = time.monotonic() + limit
        while probe is not None and not await probe():
            code = running.process.poll()
            if code is not None:
                raise EngineError(f'process "{name}" ended with exit code {code}; {log_tail(running.command.log)}')
            if time.monotonic() > until:
                raise EngineError(
                    f'process "{name}" was not ready after {limit:.0f} s; {log_tail(running.command.log)}'
                )
            await asyncio.sleep(POLL_SECONDS)

    async def stop(self, name: str) -> None:
        """End one process: ask, wait, then insist."""
        running = self.get(name)
        await end(running)
        running.paused = False
        self.write_record()

    async def stop_all(self) -> None:
        """End everything, the highest tier first."""
        for tier in sorted(Tier, reverse=True):
            members = [running for running in self.running.values() if running.command.tier == tier]
            await asyncio.gather(*(end(running) for running in members))
        self.running.clear()
        self.write_record()

    def kill_all(self) -> None:
        """End everything at once, without waiting for anybody to tidy up."""
        for running in self.running.values():
            if running.process.poll() is None:
                pids.signal_group(running.process.pid, signal.SIGKILL)
                running.process.wait()
        self.running.clear()
        self.write_record()

    async def restart(self, name: str, command: Command | None = None) -> None:
        """End one process and start it again, as it was or by a new command; returns when it is ready."""
        running = self.get(name)
        await self.stop(name)
        await self.up(command or running.command)

    def pause(self, name: str) -> None:
        """Freeze one process: it keeps its connections and answers nothing."""
        running = self.get(name)
        pids.signal_group(running.process.pid, signal.SIGSTOP)
        running.paused = True

    def resume(self, name: str) -> None:
        """Let a frozen process go on."""
        running = self.get(name)
        pids.signal_group(running.process.pid, signal.SIGCONT)
        running.paused = False

    def kill(self, name: str) -> None:
        """End one process as a crash would."""
        running = self.get(name)
        pids.signal_group(running.process.pid, signal.SIGKILL)
        running.process.wait()

    def get(self, name: str) -> RunningProcess:
        """The process of this name."""
        try:
            return self.running[name]
        except KeyError:
            names = ", ".join(sorted(self.running)) or "none"
            raise NoProcess(f'there is no process "{name}"; there are: {names}') from None

    def status(self) -> list[ProcessStatus]:
        """How every process is, in the order in which they were started."""
        return [describe(running) for running in self.running.values()]

    def write_record(self) -> None:
        """Write down what is up, so that a later process of ours can end it if we could not."""
        alive = {
            name: {"pid": running.process.pid, "started": pids.started(running.process.pid)}
            for name, running in self.running.items()
            if running.process.poll() is None
        }
        write_json(self.record, alive)

    async def end_leftovers(self) -> list[str]:
        """End what an earlier run wrote down and did not end; the names of what was found."""
        record: dict[str, dict[str, str | int]] = read_json(self.record, {})
        leftovers = [name for name, entry in record.items() if pids.is_same(int(entry["pid"]), str(entry["started"]))]
        await asyncio.gather(*(pids.end(int(record[name]["pid"]), str(record[name]["started"])) for name in leftovers))
        return leftovers


def describe(running: RunningProcess) -> ProcessStatus:
    """One line of status."""
    code = running.process.poll()
    up = "paused" if running.paused else "up"
    state = up if code is None else f"down (exit code {code})"
    return ProcessStatus(
        running.command.name, running.process.pid if code is None else None, state, running.command.port
    )


async def end(running: RunningProcess) -> None:
    """Ask a process to end; after its time is over, end it."""
    process = running.process
    if process.poll() is not None:
        return
    pids.signal_group(process.pid, signal.SIGTERM)
    pids.signal_group(process.pid, signal.SIGCONT)  # a frozen process would not hear the request
    until = time.monotonic() + running.command.stop_seconds
    while process.poll() is None:
        if time.monotonic() > until:
            pids.signal_group(process.pid, signal.SIGKILL)
            process.wait()
        await asyncio.sleep(POLL_SECONDS)


def make_room(log: Path) -> None:
    """Put a log that has grown large aside; a second one of its kind is dropped."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > LARGE_BYTES:
        log.replace(log.with_suffix(".old.log"))


def log_tail(log: Path) -> str:
    """The end of a log, or where it would be."""
    try:
        lines = log.read_text(errors="replace").rstrip().splitlines()[-TAIL_LINES:]
    except OSError:
        lines = []
    if not lines:
        return f"its log {log} is empty"
    text = "\n".join(lines)
    advice = "".join(f"\n{sentence}" for sign, sentence in ADVICE.items() if sign in text)
    return f"the end of {log}:\n{text}{advice}"

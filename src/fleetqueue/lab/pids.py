"""Tell one process from another that later got the same number, and end the one that was meant."""

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from fleetqueue.lab.errors import EngineError

ASK_SECONDS: Final = 5.0
LIMIT_SECONDS: Final = 20.0
POLL_SECONDS: Final = 0.05
BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def started(pid: int) -> str:
    """When a process started, as a text that no other process of the same number can have; empty if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = BOOT_ID.read_text().strip()
    except OSError:
        return "" if Path("/proc/self/stat").exists() else started_by_ps(pid)
    fields = stat.rpartition(")")[2].split()  # the command name before it may hold spaces
    state, ticks = fields[0], fields[19]
    return "" if state == "Z" else f"{boot}/{ticks}"


def started_by_ps(pid: int) -> str:
    """The same where there is no /proc."""
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def is_same(pid: int, start: str) -> bool:
    """Whether the process that was written down still runs."""
    return bool(start) and started(pid) == start


async def end(pid: int, start: str) -> None:
    """End a process that was written down: ask, wait, then insist."""
    asked = time.monotonic()
    number = signal.SIGTERM
    while is_same(pid, start):
        waited = time.monotonic() - asked
        if waited > LIMIT_SECONDS:
            raise EngineError(f"process {pid} of an earlier run cannot be ended; end it by hand and try again")
        if waited > ASK_SECONDS:
            number = signal.SIGKILL
        signal_group(pid, number)
        signal_group(pid, signal.SIGCONT)
        await asyncio.sleep(POLL_SECONDS)


def signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the group that a process leads; one that is gone has nothing to hear."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return

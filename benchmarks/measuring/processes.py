"""What a process costs, what its metrics say, and waiting for something that has no event."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import aiohttp


def cpu_seconds(pid: int) -> float:
    """The seconds of CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int, line: Literal["VmRSS", "VmHWM"] = "VmRSS") -> float:
    """The memory that a process has, or the most that it ever had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(one for one in lines if one.startswith(line)).split()[1]) / 1024


async def metric(port: int, name: str, *labels: str) -> float:
    """Add up a metric of one of our commands, over all its labels but those that are given."""
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as response:
        lines = (await response.text()).splitlines()
    counted = [line for line in lines if line.startswith(name) and all(label in line for label in labels)]
    return sum(float(line.rsplit(" ", 1)[1]) for line in counted)


async def until(question: Callable[[], Awaitable[bool] | bool], limit: float) -> None:
    async with asyncio.timeout(limit):
        while True:
            answer = question()
            if answer is True or (not isinstance(answer, bool) and await answer):
                return
            await asyncio.sleep(0.1)

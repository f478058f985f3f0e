"""Run the one task of a process until it ends or the process is asked to end."""

import asyncio
import signal
from asyncio import sslproto
from collections.abc import Coroutine
from typing import Any, Final

from fleetqueue.runtime.logs import Log

ENDING_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
TLS_BUFFER: Final = 64 * 1024
"""Bytes that are kept for each TLS connection. asyncio takes 256 KiB, and a hub with 60 workers has 200 connections."""

log = Log("process")


async def until_told_to_stop(work: Coroutine[Any, Any, None]) -> None:
    """Run `work`; on SIGTERM or SIGINT cancel it and wait until it has tidied up. Its own failure is raised."""
    sslproto.SSLProtocol.max_size = TLS_BUFFER
    loop = asyncio.get_running_loop()
    stop_event = asyncio.Event()
    for number in ENDING_SIGNALS:
        loop.add_signal_handler(number, stop_event.set)
    working = asyncio.create_task(work, name="work")
    waiting = asyncio.create_task(stop_event.wait(), name="signals")
    try:
        await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            log.info("stopping")
    finally:
        await end(working)
        await end(waiting)
        for number in ENDING_SIGNALS:
            loop.remove_signal_handler(number)
    if not working.cancelled():
        working.result()


async def end(task: "asyncio.Task[Any]") -> None:
    """Cancel a task and wait until it has really ended."""
    task.cancel()
    await asyncio.wait({task})

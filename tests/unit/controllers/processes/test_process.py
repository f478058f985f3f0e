"""A process ends when its work does, and when it is told to; its work tidies up before."""

import asyncio
import os
import signal
from asyncio import sslproto

import pytest

from fleetqueue.controllers.processes.process import TLS_BUFFER, until_told_to_stop


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_cancels_the_work_and_waits_for_it(number):
    done = []

    async def work() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            done.append("tidied up")

    await until_told_to_stop(work())

    assert done == ["tidied up"]


async def test_tls_connections_are_small_in_a_process_of_ours(monkeypatch):
    monkeypatch.setattr(sslproto.SSLProtocol, "max_size", 256 * 1024)

    await until_told_to_stop(asyncio.sleep(0))

    assert sslproto.SSLProtocol.max_size == TLS_BUFFER


async def test_work_that_ends_ends_the_process():
    async def work() -> None:
        return None

    await until_told_to_stop(work())


async def test_a_failure_of_the_work_is_raised():
    async def work() -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        await until_told_to_stop(work())


async def test_signals_are_given_back():
    before = signal.getsignal(signal.SIGTERM)

    async def work() -> None:
        return None

    await until_told_to_stop(work())

    assert signal.getsignal(signal.SIGTERM) == before

"""`fleetqueue dashboard` as a person runs it."""

import asyncio
import signal
import sys
from contextlib import asynccontextmanager

import aiohttp
import pytest

from fleetqueue.lab.dashboard_socket import link

pytestmark = [pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="package")]


@asynccontextmanager
async def begun(fleet, *options):
    """Run the command; it is interrupted at the end, as by Ctrl-C."""
    command = ("-m", "fleetqueue", "dashboard", "--kubeconfig", str(fleet.kubeconfig), *options)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=pipe, stderr=pipe, preexec_fn=hearing_ctrl_c
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.communicate()


def hearing_ctrl_c():
    """What a shell starts in the background is deaf to it, and so are its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


async def link_of(process):
    async for line in process.stdout:
        if b"#token=" in line:
            return line.decode().strip()
    raise AssertionError((await process.stderr.read()).decode())


async def test_it_prints_a_link_that_opens_and_ends_with_ctrl_c(fleet):
    async with begun(fleet) as process, aiohttp.ClientSession() as session:
        address, _, token = (await link_of(process)).partition("#token=")
        headers = {"Authorization": f"Bearer {token}"}
        async with session.get(address) as page, session.get(f"{address}api/stream", headers=headers) as stream:
            answers = page.status, stream.status, await stream.content.readline()

    assert answers == (200, 200, b"event: snapshot\n")
    assert process.returncode == 130


async def test_a_port_that_is_taken_is_said(fleet, dashboard):
    port = dashboard.address.rpartition(":")[2]

    async with begun(fleet, "--port", port) as process:
        printed, told = await process.communicate()

    assert process.returncode == 1
    assert printed == b""
    assert b"choose another --port" in told


async def test_a_fleet_serves_its_dashboard_when_somebody_asks_for_it(tmp_path):
    await typed("up", "--detach", "--in-memory", "--workers", "1", "--data-dir", str(tmp_path))
    try:
        address, _, token = link(tmp_path).partition("#token=")
        headers = {"Authorization": f"Bearer {token}"}
        was_there = (tmp_path / "dashboard.log").exists()
        async with aiohttp.ClientSession() as session:
            async with session.get(address) as page, session.get(f"{address}api/stream", headers=headers) as stream:
                answers = page.status, stream.status
            async with session.get(f"{address}api/stream") as refused:
                without_token = refused.status
    finally:
        await typed("down", "--data-dir", str(tmp_path))

    assert (was_there, answers, without_token) == (False, (200, 200), 401)
    assert token not in (tmp_path / "dashboard.log").read_text()
    assert link(tmp_path) == ""
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(address)


async def typed(*arguments):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fleetqueue", *arguments, stdout=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0

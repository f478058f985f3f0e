"""`fleetqueue dashboard` as a person runs it."""

import asyncio
import signal
import sys
from contextlib import asynccontextmanager

import aiohttp
import pytest

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

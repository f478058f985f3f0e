"""Questions that a process answers when it is ready."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from fleetqueue.lab.ports import LOOPBACK

Probe = Callable[[], Awaitable[bool]]

# A process that does not answer within this is asked again; on a machine that is busy starting it may be slow.
ANSWER_SECONDS: Final = 5.0


def answers(url: str) -> Probe:
    """Ready when this address answers 200. Certificates are not checked: many programs make their own at start."""
    import aiohttp  # a third of a second, which those who only ask for a fleet's status need not wait

    limit = aiohttp.ClientTimeout(total=ANSWER_SECONDS)

    async def probe() -> bool:
        try:
            async with aiohttp.ClientSession(timeout=limit) as session, session.get(url, ssl=False) as response:
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    return probe


def both(first: Probe, second: Probe) -> Probe:
    """Ready when both say so; the second is asked only after the first has said yes."""

    async def probe() -> bool:
        return await first() and await second()

    return probe


def accepts(port: int) -> Probe:
    """Ready when this port takes connections."""

    async def probe() -> bool:
        try:
            _, writer = await asyncio.open_connection(LOOPBACK, port)
        except OSError:
            return False
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        return True

    return probe

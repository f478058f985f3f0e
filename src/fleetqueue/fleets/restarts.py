"""Keep up what nobody else keeps: work that ends by itself is told of, and begun anew as a kubelet does it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fleetqueue import clock
from fleetqueue.embedded.nodes.crash_back_off import BackOff
from fleetqueue.runtime.attempts import attempt
from fleetqueue.runtime.logs import Log

log = Log("cluster")


async def kept_up(begin: Callable[[], Coroutine[Any, Any, None]], *, cluster: str, what: str) -> None:
    """Work until cancelled. Each time all is begun anew, since what failed may be half of its old self."""
    back_off = BackOff()
    while True:
        work = await attempt(begin())
        try:
            work.result()
            log.warning("work has ended by itself", cluster=cluster, what=what)
        except (Exception, asyncio.CancelledError):
            log.exception("work failed", cluster=cluster, what=what)
        await asyncio.sleep(back_off.pause_after(clock.monotonic()))
        back_off.starts(clock.monotonic())

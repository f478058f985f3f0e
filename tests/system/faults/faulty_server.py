"""A cluster's API that can be down, refuse, lose its answers, or hold back what one process asks.

All who ask it meet the same faults, in pods of the same cluster or of another one; only the test itself does not.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api.requests import Request
from fleetqueue.embedded.apiserver.http.exchange import ServerResponse, WatchStream
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.fleets.targets import target_of
from fleetqueue.runtime.logs import tags

TESTER = "tester"
"""The token of the test; to all others a fault may happen."""


@dataclass
class Unrest:
    """Requests fail by chance."""

    chance: random.Random
    share: float
    """Of all requests that it is about."""
    errors: tuple[errors.ApiError | errors.Unreachable, ...]
    happens: bool = False
    """Whether a request is carried out and only its answer is lost."""
    reads: bool = False
    """Whether reads fail too."""

    def strikes(self, method: str, path: str, query: Any, body: Any) -> errors.ApiError | errors.Unreachable | None:
        target = target_of(Request(method, path, dict(query), body))
        is_write = target is not None and target.is_write
        if not (is_write or (self.reads and method == "GET")) or self.chance.random() >= self.share:
            return None
        return self.chance.choice(self.errors)


class Faults:
    """What is wrong with a server now."""

    def __init__(self) -> None:
        self.is_down = False
        self.unrest: Unrest | None = None
        self.frozen: dict[str, asyncio.Event] = {}
        """From the process (its pod) to what it waits for."""
        self._break = asyncio.Event()

    def break_streams(self) -> None:
        self._break.set()
        self._break = asyncio.Event()

    def end(self) -> None:
        self.is_down, self.unrest = False, None

    async def carry(self, events: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
        """Hand on the events of a watch until it ends or is broken off."""
        breaking = asyncio.ensure_future(self._break.wait())
        coming = asyncio.ensure_future(anext(events))
        try:
            while True:
                await asyncio.wait({coming, breaking}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    raise errors.Unreachable("connection reset")
                try:
                    event = coming.result()
                except StopAsyncIteration:
                    return
                coming = asyncio.ensure_future(anext(events))
                await process_may_go_on(self.frozen)
                yield event
        finally:
            breaking.cancel()
            coming.cancel()
            await asyncio.wait({coming, breaking})
            if not coming.cancelled():
                coming.exception()  # an end that nobody waits for any more
            await events.aclose()


async def process_may_go_on(frozen: dict[str, asyncio.Event]) -> None:
    thawed = frozen.get(this_process())
    if thawed is not None:
        await thawed.wait()


def this_process() -> str:
    """Name the pod whose program asks, as its log lines do; nothing where it is none."""
    return str(tags.get().get("pod", ""))


class FaultyServer(ApiServer):
    faults: Faults

    async def answer(
        self, method: str, path: str, query: Any, *, credentials: Any, body: Any = None, **more: Any
    ) -> ServerResponse | WatchStream:
        ask = partial(super().answer, method, path, query, credentials=credentials, body=body, **more)
        if credentials.token == TESTER:
            return await ask()
        if this_process() in self.faults.frozen:
            return await asyncio.shield(asyncio.ensure_future(self._late(ask, method, path, query, body)))
        return await self._faulty(ask, method, path, query, body)

    async def _late(self, ask: Callable[[], Any], *request: Any) -> ServerResponse | WatchStream:
        """Carry out what a frozen process had sent when it goes on, even if it does not wait for it any more."""
        await process_may_go_on(self.faults.frozen)
        return await self._faulty(ask, *request)

    async def _faulty(self, ask: Callable[[], Any], *request: Any) -> ServerResponse | WatchStream:
        if self.faults.is_down:
            raise errors.Unreachable("connection refused")
        error = self.faults.unrest.strikes(*request) if self.faults.unrest else None
        if error is not None and not self.faults.unrest.happens:
            raise error.with_traceback(None)  # one is raised again and again
        answer = await ask()
        if isinstance(answer, WatchStream):
            return WatchStream(self.faults.carry(answer.events), answer.warnings)
        if error is not None:
            raise errors.Unreachable("connection reset")
        return answer

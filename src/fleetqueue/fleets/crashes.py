"""A process that dies at one of its writes: the write is lost, or it arrives and nobody hears the answer."""

import asyncio
from contextlib import AbstractAsyncContextManager

from fleetqueue.api.requests import Request, Response
from fleetqueue.client.door import Door, Stream
from fleetqueue.fleets.targets import target_of


class Life:
    """One process's life: all its clients go through doors of this life, and end with it.

    Events are not counted: they are told beside the work, and what is lost with them is no state.
    """

    def __init__(self, *, dies_at: int = 0, last_write_arrives: bool = False) -> None:
        self.writes: list[str] = []
        """What was written, in words; the last one is the fatal one."""
        self.dies_at = dies_at
        """At its so many-th write; 0 is never."""
        self.last_write_arrives = last_write_arrives
        self.dead = asyncio.Event()

    def door(self, door: Door) -> "MortalDoor":
        return MortalDoor(door, self)

    def end(self) -> None:
        """Die now, as by kill -9: nothing is sent any more, and no answer is heard."""
        self.dead.set()

    def counts(self, request: Request) -> bool:
        """Note a write; tell whether it is the last one."""
        target = target_of(request)
        if target is None or not target.is_write or target.plural == "events":
            return False
        self.writes.append(str(target))
        return len(self.writes) == self.dies_at


class MortalDoor:
    def __init__(self, door: Door, life: Life) -> None:
        self.door = door
        self.life = life

    async def request(self, request: Request, *, timeout: float) -> Response:
        await self._stop_if_dead()
        if self.life.counts(request):
            self.life.end()
            if self.life.last_write_arrives:
                await self.door.request(request, timeout=timeout)
        await self._stop_if_dead()
        response = await self.door.request(request, timeout=timeout)
        await self._stop_if_dead()
        return response

    def stream(self, request: Request, *, silence: float) -> AbstractAsyncContextManager[Stream]:
        return self.door.stream(request, silence=silence)  # what the dead hear, nobody is told

    async def close(self) -> None:
        await self.door.close()

    async def _stop_if_dead(self) -> None:
        if self.life.dead.is_set():
            await asyncio.Event().wait()

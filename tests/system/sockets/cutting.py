"""A way to a server that breaks after a random number of bytes, each time anew."""

import asyncio
import random
from contextlib import asynccontextmanager

from fleetqueue.lab.forwarder import HOST, Entrance, Side


class CutSide(Side):
    """The end at the server: what it says goes on up to a limit, and is cut there, in the middle of anything."""

    def __init__(self, left: int, is_reset: bool) -> None:
        super().__init__()
        self.left = left
        self.is_reset = is_reset

    def data_received(self, data: bytes) -> None:
        if self.left > 0:
            super().data_received(data[: self.left])
        self.left -= len(data)
        if self.left <= 0:
            self.cut()

    def cut(self) -> None:
        self.transport.abort()
        if self.peer is not None and self.peer.transport is not None:
            if self.is_reset:
                self.peer.transport.abort()
            else:
                self.peer.transport.close()  # what was passed on still arrives, and then the end


class CutEntrance(Entrance):
    def __init__(self, target: int, left: int, is_reset: bool) -> None:
        super().__init__(target)
        self.exit_side = CutSide(left, is_reset)

    async def open(self) -> None:
        await asyncio.get_running_loop().create_connection(lambda: self.exit_side, HOST, self.target)
        self.join(self.exit_side)


@asynccontextmanager
async def cutting(target: int, chance: random.Random, most: int):
    """Listen on a port that passes on to another; `cuts` counts the connections, of which each is cut."""
    entrances = []

    def entrance() -> CutEntrance:
        entrances.append(CutEntrance(target, chance.randrange(1, most), chance.random() < 0.5))
        return entrances[-1]

    server = await asyncio.get_running_loop().create_server(entrance, HOST, 0)
    try:
        yield server.sockets[0].getsockname()[1], entrances
    finally:
        server.close()
        for one in entrances:
            one.close()
            one.exit_side.close()

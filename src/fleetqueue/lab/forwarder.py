"""Pass TCP connections on to another port, as a process of its own that can be stopped to cut a cluster off.

Usage: forwarder.py <listen port> <target port>

Like `launcher.py` this file runs in a bare interpreter and imports nothing of ours. Stopping the process cuts every
connection and refuses new ones; freezing it is a network that swallows packets. What stands behind it notices nothing.
"""

import asyncio
import sys

HOST = "127.0.0.1"
# A large watch event still passes in one piece; a slow reader holds back the writer at this size.
BUFFER = 256 * 1024


class Side(asyncio.Protocol):
    """One end of a forwarded connection: what it receives goes to the other end."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.peer: Side | None = None
        self.early: list[bytes] = []
        self.said_all = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=BUFFER)
        self.transport = transport

    def join(self, peer: "Side") -> None:
        """Connect the two ends and pass on what came before they were connected."""
        self.peer, peer.peer = peer, self
        for data in self.early:
            self.data_received(data)
        if self.said_all:
            peer.hear_end()
        if self.transport is None or self.transport.is_closing():
            peer.close()

    def data_received(self, data: bytes) -> None:
        if self.peer is None:
            self.early.append(data)
        elif self.peer.transport is not None:
            self.peer.transport.write(data)

    def eof_received(self) -> bool:
        self.said_all = True
        if self.peer is not None:
            self.peer.hear_end()
        return self.peer is None or not self.peer.said_all  # when both have said all, the connection is over

    def hear_end(self) -> None:
        """Tell this end that the other one has said all; it may still answer."""
        if self.transport is None or self.transport.is_closing():
            return
        if self.said_all:
            self.transport.close()
        else:
            self.transport.write_eof()

    def pause_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None and not self.peer.transport.is_closing():
            self.peer.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if self.peer is not None:
            self.peer.close()

    def close(self) -> None:
        """Close this end once everything written to it has gone out."""
        if self.transport is not None:
            self.transport.close()


class Entrance(Side):
    """The end that others connect to; it opens the way to the target."""

    def __init__(self, target: int) -> None:
        super().__init__()
        self.target = target
        self.opening: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.opening = asyncio.get_running_loop().create_task(self.open())

    async def open(self) -> None:
        """Connect to the target; if nobody listens there, nobody shall seem to listen here."""
        loop = asyncio.get_running_loop()
        try:
            _, exit_side = await loop.create_connection(Side, HOST, self.target)
        except OSError:
            assert self.transport is not None
            self.transport.abort()
            return
        self.join(exit_side)


async def serve(listen: int, target: int) -> None:
    """Forward until the process is ended."""
    server = await asyncio.get_running_loop().create_server(lambda: Entrance(target), HOST, listen)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))

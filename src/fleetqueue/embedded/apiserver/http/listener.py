"""A port on which clients are taken, with TLS or without.

TLS is made ready when the first client comes, so that a cluster that nobody asks costs one socket. While a listener
pauses, the system still takes connections and nobody answers them.
"""

import asyncio
import os
import socket
import ssl
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

BACKLOG: Final = 512
HANDSHAKE_SECONDS: Final = 10.0
SHUTDOWN_SECONDS: Final = 1.0

Context = ssl.SSLContext | Callable[[], ssl.SSLContext] | None
"""TLS, or what makes it ready."""
Pem = bytes | Path
"""PEM itself, or the file that contains it."""


class Listener:
    def __init__(self, host: str, port: int, context: Context, protocol: Callable[[], asyncio.Protocol]) -> None:
        """Listen; the system chooses a port for port 0."""
        self._context = context
        self._protocol = protocol
        self._socket = _bound(host, port)
        self._socket.listen(BACKLOG)
        self._opening: asyncio.Task[asyncio.Server] | None = None
        self.resume()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    def resume(self) -> None:
        """Take those who wait, and who comes."""
        asyncio.get_running_loop().add_reader(self._socket, self._open)

    async def pause(self) -> asyncio.Server | None:
        """Take nobody more; return what took them until now."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket)
        if self._opening is None:
            return None
        server, self._opening = await self._opening, None
        for own in server.sockets:
            loop.remove_reader(own)
        await asyncio.sleep(0)  # who was just taken is met first: asyncio would forget them, and they would wait
        server.close()
        return server

    async def close(self) -> None:
        """Take nobody more, and refuse who waits."""
        server = await self.pause()
        self._socket.close()
        if server is not None:
            with suppress(TimeoutError):  # of a client that is still shaking hands
                async with asyncio.timeout(SHUTDOWN_SECONDS):
                    await server.wait_closed()

    def _open(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket)
        self._opening = loop.create_task(self._server())

    async def _server(self) -> asyncio.Server:
        context = self._context() if callable(self._context) else self._context
        tls: dict[str, Any] = {"ssl": context}
        if context is not None:
            tls |= {"ssl_handshake_timeout": HANDSHAKE_SECONDS, "ssl_shutdown_timeout": SHUTDOWN_SECONDS}
        # Of its own, since it closes it: who is not taken yet waits for the next one.
        own = self._socket.dup()
        return await asyncio.get_running_loop().create_server(self._protocol, sock=own, backlog=BACKLOG, **tls)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio would delay small pieces until the client's next packet.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setblocking(False)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def server_context(certificate: Pem, key: Pem, client_authority: Pem | None = None) -> ssl.SSLContext:
    """Make the TLS context of an endpoint: a client needs no certificate, but one that it shows must hold."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, _content(certificate), _content(key))
    if client_authority is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=_content(client_authority).decode())
    return context


def _content(pem: Pem) -> bytes:
    return pem.read_bytes() if isinstance(pem, Path) else pem


def _load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Hand over certificate and key, for which Python's ssl wants a file; only its owner can read it, and it goes."""
    descriptor, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key + b"\n" + certificate)
        context.load_cert_chain(name)
    finally:
        os.unlink(name)

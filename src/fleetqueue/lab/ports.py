"""Give every process of a fleet a loopback port, and keep it as long as nobody else takes it.

Ports lie below the range from which the kernel picks for outgoing connections, so that none of those can sit on a port
of ours between two starts. A port that somebody has taken is replaced at the next start.
"""

import random
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from fleetqueue.lab.errors import EngineError

FIRST: Final = 21000
LAST: Final = 31999
HIGHEST: Final = 65535
TRIES: Final = 2000
LOOPBACK: Final = "127.0.0.1"


@contextmanager
def reserved(
    names: Iterable[str], kept: Mapping[str, int], chooser: random.Random | None = None
) -> Iterator[dict[str, int]]:
    """Give each name a port, the kept one where it is still free, and let no other fleet choose it within the block.

    Two fleets that start at a time have a hundred ports that are chosen and not yet used. Only Linux lets a server
    listen where we hold a port; elsewhere nothing is held.
    """
    chooser = chooser or random.SystemRandom()
    taken = set(kept.values())
    ports: dict[str, int] = {}
    with ExitStack() as holders:
        for name in names:
            port = kept.get(name)
            holder = None if port is None or port in ports.values() else _bound(port, shared=True)
            holder = holder or choose(taken, chooser)
            holders.enter_context(holder)
            ports[name] = holder.getsockname()[1]
        if sys.platform != "linux":
            holders.close()
        yield ports


def assign(names: Iterable[str], kept: Mapping[str, int], chooser: random.Random | None = None) -> dict[str, int]:
    """A port for each name: the kept one where it is still free, a new one otherwise."""
    with reserved(names, kept, chooser) as ports:
        return ports


def consecutive(names: Iterable[str], first: int) -> dict[str, int]:
    """Ports in a row, which the user has asked for; one that is taken is an error."""
    ports = {name: first + number for number, name in enumerate(names)}
    if max(ports.values()) > HIGHEST:
        raise EngineError(f"{len(ports)} ports from {first} go beyond {HIGHEST}; begin at {HIGHEST + 1 - len(ports)}")
    for name, port in ports.items():
        if not is_free(port):
            raise EngineError(
                f"port {port}, which {name} should have, is taken on {LOOPBACK}; stop what listens there, "
                "or begin elsewhere with --ports-from"
            )
    return ports


def choose(taken: set[int], chooser: random.Random) -> socket.socket:
    """Hold a free port that no process of this fleet has, and that no other fleet holds."""
    for _ in range(TRIES):
        port = chooser.randint(FIRST, LAST)
        if port not in taken and (holder := _bound(port, shared=False)) is not None:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # for the server that it is for
            return holder
    raise EngineError(f"found no free port between {FIRST} and {LAST} on {LOOPBACK}; stop what listens there")


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    if (holder := _bound(port, shared=True)) is None:
        return False
    holder.close()
    return True


def _bound(port: int, *, shared: bool) -> socket.socket | None:
    """Bind a port; None where it is taken.

    A shared one is bound as servers do: connections of a predecessor that are still being buried do not count, and
    neither does a holder.
    """
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, shared)
    try:
        holder.bind((LOOPBACK, port))
    except OSError:
        holder.close()
        return None
    return holder


def hold(port: int) -> socket.socket:
    """Keep a port without listening on it: connections are refused and nobody else can take it."""
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind((LOOPBACK, port))
    except OSError:
        holder.close()
        raise
    # From here on nobody may share the port with us.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
    return holder

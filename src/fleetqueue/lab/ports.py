"""Give every process of a fleet a loopback port, and keep it as long as nobody else takes it.

Ports lie below the range from which the kernel picks for outgoing connections, so that none of those can sit on a port
of ours between two starts. A port that somebody has taken is replaced at the next start.
"""

import random
import socket
from collections.abc import Iterable, Mapping
from typing import Final

from fleetqueue.lab.errors import EngineError

FIRST: Final = 21000
LAST: Final = 31999
HIGHEST: Final = 65535
TRIES: Final = 2000
LOOPBACK: Final = "127.0.0.1"


def assign(names: Iterable[str], kept: Mapping[str, int], chooser: random.Random | None = None) -> dict[str, int]:
    """A port for each name: the kept one where it is still free, a new one otherwise."""
    chooser = chooser or random.SystemRandom()
    ports: dict[str, int] = {}
    taken = set(kept.values())
    for name in names:
        port = kept.get(name)
        if port is None or port in ports.values() or not is_free(port):
            port = choose(taken, chooser)
        taken.add(port)
        ports[name] = port
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


def choose(taken: set[int], chooser: random.Random) -> int:
    """A free port that no process of this fleet has."""
    for _ in range(TRIES):
        port = chooser.randint(FIRST, LAST)
        if port not in taken and is_free(port):
            return port
    raise EngineError(f"found no free port between {FIRST} and {LAST} on {LOOPBACK}; stop what listens there")


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of a predecessor that are still being buried do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


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

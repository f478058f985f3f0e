"""Reach the socket in a data folder whose path may be longer than the hundred characters that sockets allow."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fleetqueue.lab.errors import EngineError

SOCKET: Final = "control.sock"
LONGEST: Final = 100


@contextmanager
def reachable(folder: Path) -> Generator[str, None, None]:
    """An address for the socket in a folder, good as long as the block runs."""
    path = str(folder / SOCKET)
    if len(path.encode()) <= LONGEST:
        yield path
        return
    if not Path("/proc/self/fd").is_dir():
        raise EngineError(f"the path {path} is too long for a socket; choose a data folder with a shorter one")
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)

"""Wait until something is so, with a limit."""

import time
from collections.abc import Callable

LIMIT_SECONDS = 120.0
"""When a kind has gone, a real garbage collector stands still for half a minute before it looks at anything else."""
POLL_SECONDS = 0.05


def eventually(holds: Callable[[], object], within: float = LIMIT_SECONDS) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"not so within {within:g} s"
        time.sleep(POLL_SECONDS)

"""Wait until somebody presses Enter.

Nothing blocks meanwhile: the clusters in this process live on, and Ctrl-C ends everything at once.
"""

import asyncio
import os
import sys


async def enter() -> bool:
    """Wait for Enter on standard input; False when nobody can press it any more."""
    if sys.stdin is None or sys.stdin.closed:
        return False
    return await end_of_line(sys.stdin.fileno())


async def end_of_line(descriptor: int) -> bool:
    """Read one line from a terminal or a pipe and forget it; False at its end, and where nothing can be waited for."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[bool] = loop.create_future()

    def read() -> None:
        byte = os.read(descriptor, 1)  # one at a time: what follows is for the next command
        if byte in (b"\n", b""):
            loop.remove_reader(descriptor)
            ended.set_result(byte == b"\n")

    try:
        loop.add_reader(descriptor, read)
    except PermissionError:  # a file, or /dev/null
        return False
    try:
        return await ended
    finally:
        loop.remove_reader(descriptor)

"""Tell a story in a terminal: commands, what they print, marks for what held; colours only where somebody looks."""

import asyncio
import os
import stat
import sys
from typing import TYPE_CHECKING, Final, TextIO

from fleetqueue.cli.progress import PATIENCE, may_move, spinner, wants_colours

if TYPE_CHECKING:
    from rich.status import Status

    from fleetqueue.demo.expectations import ExpectationOutcome


YES, NO = "✓", "✗"
PLAIN, BOLD, DIM, RED, GREEN, CYAN = "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[36m"
LONG_OUTPUT: Final = 24
"""Lines of a command's output that are shown; what is longer is cut in the middle."""


class Terminal:
    """Prints to a stream; on a terminal with colours, and with a spinner while something is waited for."""

    def __init__(self, stream: TextIO = sys.stdout, *, step: bool = False) -> None:
        self.stream = stream
        self.step = step
        self.has_colours = stream.isatty() and wants_colours()
        self._spinner: Status | None = None
        self._notice: asyncio.TimerHandle | None = None

    def title(self, text: str) -> None:
        self._print("")
        self._print(self._in(BOLD, text))
        self._print(self._in(BOLD, "─" * len(text)))

    def say(self, text: str) -> None:
        self._print(f"  {text}")

    async def command(self, text: str) -> None:
        self._print("")
        for number, line in enumerate(text.splitlines()):
            self._print(f"  {self._in(CYAN, line if number else f'$ {line}')}")
        if self.step:
            await self._pause()

    def output(self, text: str) -> None:
        for line in shortened(text.rstrip().splitlines()):
            self._print(f"    {self._in(DIM, line)}")

    def reason(self, text: str) -> None:
        self._print(f"    why: {text}")

    def waiting(self, text: str) -> None:
        """Say what is waited for, once it takes long enough to be noticed."""
        self._notice = asyncio.get_running_loop().call_later(PATIENCE, self._show_wait, text)

    def outcome(self, outcome: "ExpectationOutcome") -> None:
        self._end_wait()
        mark = self._in(GREEN, YES) if outcome.held else self._in(RED, NO)
        took = f"{outcome.seconds:.1f}s" if outcome.seconds >= 0.05 else ""
        self._print(f"  {mark} {outcome.id:<6} {outcome.sentence}  {self._in(DIM, took)}".rstrip())
        if outcome.note:
            self._print(f"           {outcome.note}")

    async def _pause(self) -> None:
        is_echoed = sys.stdin is not None and sys.stdin.isatty()
        print("    (Enter) ", end="" if is_echoed else "\n", file=self.stream, flush=True)
        self.step = await enter()
        if not self.step:
            self._print("")
            self.say("Nobody can press Enter any more: the rest is told without stops.")

    def _show_wait(self, text: str) -> None:
        if may_move(self.stream):
            self._spinner = spinner(self.stream, f"waiting for {text}")
        else:
            self._print(f"  ... waiting for {text}")

    def _end_wait(self) -> None:
        if self._notice is not None:
            self._notice.cancel()
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def _in(self, style: str, text: str) -> str:
        return f"{style}{text}{PLAIN}" if self.has_colours and text else text

    def _print(self, text: str) -> None:
        print(text, file=self.stream, flush=True)


def shortened(lines: list[str]) -> list[str]:
    """Cut a long output in its middle."""
    if len(lines) <= LONG_OUTPUT:
        return lines
    half = LONG_OUTPUT // 2
    return [*lines[:half], f"... {len(lines) - 2 * half} lines ...", *lines[-half:]]


def may_be_pressed(stream: TextIO | None) -> bool:
    """Tell whether Enter can come from a stream: from a person at a terminal, or from a program through a pipe."""
    if stream is None or stream.closed:
        return False
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:
        return False
    return stream.isatty() or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def enter() -> bool:
    """Wait for Enter on standard input; False when nobody can press it any more.

    Nothing blocks meanwhile: the clusters in this process live on, and Ctrl-C ends everything at once.
    """
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

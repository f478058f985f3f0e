"""Say how far a long step has come: a line for each thing done and, where somebody looks, a sign that work goes on."""

import os
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TextIO

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE: Final = 2.0
"""Seconds of silence after which something moves."""
AT_WORK: Final = "still at work"


class Progress:
    """Prints what happens with the seconds since it was made, on standard error; nothing moves after its end.

    The sign moves in a thread: what we wait for may keep this one busy.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.lines: list[str] = []
        """What was said, without the time."""
        self._may_move = may_move(self.stream)
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._notice: threading.Timer | None = None
        self._spinner: Status | None = None

    def __call__(self, line: str) -> None:
        self.rest()
        self.lines.append(line)
        print(f"{time.monotonic() - self._began:6.1f}s  {line}", file=self.stream, flush=True)
        if self._may_move:
            self._notice = threading.Timer(PATIENCE, self._move)
            self._notice.daemon = True  # it must not keep a command alive
            self._notice.start()

    def rest(self) -> None:
        """Stand still until the next line: somebody else writes to the terminal, or nothing is waited for."""
        with self._lock:
            if self._notice is not None:
                self._notice.cancel()
                self._notice = None
            if self._spinner is not None:
                self._spinner.stop()
                self._spinner = None

    def settle(self) -> None:
        """Stand still for good: lines may come, but nothing is waited for."""
        self._may_move = False
        self.rest()

    def _move(self) -> None:
        with self._lock:
            if threading.current_thread() is self._notice:  # no line came while we waited for the lock
                self._spinner = spinner(self.stream, AT_WORK)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()


def spinner(stream: TextIO, text: str) -> "Status":
    """Let something move beside a text until it is stopped."""
    from rich.console import Console  # slow to import, and few commands take so long

    status = Console(file=stream).status(text)
    status.start()
    return status


def may_move(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether somebody looks: on a terminal that is not plain, and not where a program reads what we write."""
    return stream.isatty() and wants_colours(environ) and not environ.get("CI")


def wants_colours(environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the user lets terminals be coloured; see https://no-color.org."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"

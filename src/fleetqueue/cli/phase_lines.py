"""Phases of jobs as lines: on a terminal the last one stays live, elsewhere each change is a line of its own."""

import json
import shutil
import textwrap
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from fleetqueue.cli.options import OutputFormat
from fleetqueue.cli.progress import may_move

if TYPE_CHECKING:
    from fleetqueue.admin.job_phases import JobPhase

CLEAR = "\r\x1b[2K"
INDENT = " " * 8
"""Below the time, where a line goes on."""
GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"


class PhaseLines:
    def __init__(self, stream: TextIO, output: OutputFormat = OutputFormat.TABLE, *, is_single: bool = True) -> None:
        self.stream = stream
        self.output = output
        self.is_single = is_single
        """Whether one job is followed: then its name is not on each line, and the last line can be live."""
        self._is_live = output is OutputFormat.TABLE and may_move(stream)
        self._open: JobPhase | None = None
        """How the phase began whose line may still change."""
        self._whole = ""
        """All of it, in several lines where the terminal is too narrow for one."""
        self._last: dict[tuple[str, str], tuple[str, str]] = {}

    def show(self, phase: "JobPhase") -> None:
        told, key = (phase.phase, phase.text), (phase.namespace, phase.job)
        is_news = self._last.get(key) != told
        self._last[key] = told
        if self._is_live and self.is_single:
            self._redraw(phase)
        elif is_news:
            print(self._line(phase), file=self.stream, flush=True)

    def _redraw(self, phase: "JobPhase") -> None:
        """Write over the line of the same phase, with the time now; what stays says whole when its phase began."""
        before = CLEAR
        if self._open is None or self._open.phase != phase.phase:
            before = f"{CLEAR}{self._whole}\n" if self._open else CLEAR
            self._open = phase
        width = max(shutil.get_terminal_size().columns - 1, 20)
        begun = replace(phase, seconds=self._open.seconds)
        self._whole = textwrap.fill(self._line(begun), width, subsequent_indent=INDENT)
        line = self._whole if phase.is_last else self._line(phase)[:width]
        print(f"{before}{self._coloured(phase, line)}", end="", file=self.stream, flush=True)

    def _line(self, phase: "JobPhase") -> str:
        if self.output is OutputFormat.JSON:
            return json.dumps(phase.row)
        if self.output is OutputFormat.YAML:
            import yaml

            return "---\n" + str(yaml.safe_dump(phase.row, sort_keys=False)).rstrip("\n")
        from fleetqueue.admin.table_text import duration

        name = "" if self.is_single else f"{phase.job}  "
        return f"{duration(phase.seconds):>6}  {name}{phase.text}"

    def _coloured(self, phase: "JobPhase", line: str) -> str:
        if not phase.is_last:
            return line
        return f"{GREEN if phase.phase == 'succeeded' else RED}{line}{PLAIN}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            print(file=self.stream, flush=True)

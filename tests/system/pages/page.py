"""A page as somebody types it: which of its lines, what they ask for first, and what is seen."""

import re
from dataclasses import dataclass, field

from .shell import INTERRUPTED, Shell, lines_of

NOT_TYPED = {
    "make ": "it is what people and CI begin with: CI runs `make test`, and tests/docs/test_commands.py finds each",
    "python benchmarks/": "it measures for minutes; `make bench` runs the same files",
    "ssh ": "there is no other machine",
    "fleetqueue engine build": "it takes 20 minutes; CI begins with it (`make engine`)",
    "fleetqueue demo --engine kubernetes": "it needs the real engine; tests/system/stories tells the same there",
    "fleetqueue pause": "embedded parts are no processes: tests/system/sockets/test_paused_parts.py types it on some",
    "fleetqueue resume": "as pause",
    "fleetqueue restart": "as pause",
}
"""Lines that no test types, by how they begin, and why."""
WITH_HELM = "helm "
"""What is done to a release of the chart is typed in tests/docs/test_install_page.py, which installs it."""
UNTIL_CTRL_C = {
    "fleetqueue dashboard": INTERRUPTED,
    "fleetqueue get jobs -w": INTERRUPTED,
    "fleetqueue get jobs train -n team-a -w": INTERRUPTED,
    "fleetqueue logs train -n team-a -f": INTERRUPTED,
    "fleetqueue logs --part hub/kueue -f": INTERRUPTED,
    "fleetqueue controller": 0,
    "fleetqueue score-agent": 0,
}
"""What runs until it is interrupted, by how it begins, with the exit code that it then has."""
WITH_ENTER = "--step"
"""Who asks for this presses Enter again and again."""


def is_typed(line: str) -> bool:
    return not line.startswith((*NOT_TYPED, WITH_HELM))


@dataclass(frozen=True)
class Page:
    """A page, or some of its blocks, and what is seen when it is typed."""

    path: str
    blocks: tuple[int, ...] = ()
    """Which of its blocks, where not all speak of one world."""
    between: dict[str, str] = field(default_factory=dict)
    """What its prose asks for in words, by the line before which that is typed."""
    instead: dict[str, str] = field(default_factory=dict)
    """What a name that only stands for one is here."""
    shows: dict[str, str] = field(default_factory=dict)
    """What a line must print, as a regular expression, by a part of it; all others must only succeed."""

    def __str__(self) -> str:
        return "-".join([self.path, *map(str, self.blocks)])

    def lines(self) -> list[str]:
        return [line for line in lines_of(self.path, self.blocks) if is_typed(line)]

    def as_here(self, line: str) -> str:
        """Return a line with the names that things have here."""
        for name, here in self.instead.items():
            line = line.replace(name, here)
        return line


def type_page(shell: Shell, page: Page) -> None:
    for line in page.lines():
        if first := page.between.get(line):
            shell.type(first)
        wanted = [text for part, text in page.shows.items() if part in line]
        code = next((code for begin, code in UNTIL_CTRL_C.items() if line.startswith(begin)), None)
        if code is not None:
            shell.type_until_ctrl_c(page.as_here(line), *wanted, code=code)
            continue
        said = shell.type(page.as_here(line), "\n" * 1000 if WITH_ENTER in line else "")
        assert all(re.search(text, said) for text in wanted), f"$ {line}\n{said}"

"""Draw what `fleetqueue demo` prints as a picture of a terminal, for the README: python tools/draw_demo.py PICTURE.svg

The demo is run, and nothing of it is changed: the beginning of story 3 and the summary are kept, and `...` stands where
lines are left out.
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 118
MOST_OF_STORY = 34
COMMAND = "fleetqueue demo"


def main() -> int:
    picture = Path(sys.argv[1])
    printed = run_demo()
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for line in chosen(printed):
        console.print(Text.from_ansi(line), overflow="fold")
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(without_foreign_fonts(console.export_svg(title=f"$ {COMMAND}")))
    print(f"{picture}: drawn")
    return 0


def run_demo() -> list[str]:
    """Return the lines that the demo prints, with their colours; raises CalledProcessError where it fails."""
    program = Path(sys.executable).parent / "fleetqueue"
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
    done = subprocess.run([program, "demo", "all"], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def chosen(lines: list[str]) -> list[str]:
    plain = [Text.from_ansi(line).plain for line in lines]
    story = next(number for number, line in enumerate(plain) if line.startswith("Story 3"))
    summary = max(number for number, line in enumerate(plain) if line.startswith("Summary"))
    end = next(number for number, line in enumerate(plain[summary:], summary) if "not shown here" in line)
    return [*lines[story : story + MOST_OF_STORY], "  ...", "", *lines[summary:end], lines[-1]]


def without_foreign_fonts(svg: str) -> str:
    """Leave out the fonts that a reader's browser would have to fetch from somebody else."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    sys.exit(main())

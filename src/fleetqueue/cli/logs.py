"""`fleetqueue logs`: what a process of a fleet said."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from fleetqueue.cli.fleets import folder
from fleetqueue.cli.options import DataDir
from fleetqueue.cli.running import Code, Failure

POLL_SECONDS = 0.2


def logs(
    name: Annotated[str, typer.Argument(help="The process as `status` names it, such as hub/kueue; or `supervisor`.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what it says from now on.")] = False,
    tail: Annotated[int, typer.Option(help="Only the last lines; 0 means all.")] = 0,
    data_dir: DataDir = None,
) -> None:
    """Print the log of one process of the fleet on this machine.

    \b
    Example:
      fleetqueue logs hub/controller -f
      fleetqueue logs cluster1/kueue --tail 20
    """
    file = log_file(folder(data_dir), name)
    with file.open(errors="replace") as lines:
        text = lines.readlines()
        sys.stdout.writelines(text[-tail:])
        while follow:
            sys.stdout.flush()
            if line := lines.readline():
                sys.stdout.write(line)
            else:
                time.sleep(POLL_SECONDS)


def log_file(where: Path, name: str) -> Path:
    """Return the log of a process, or say which there are."""
    cluster, _, part = name.partition("/")
    file = where / "supervisor.log" if name == "supervisor" else where / cluster / "logs" / f"{part}.log"
    if not file.is_file():
        there = sorted(f"{log.parents[1].name}/{log.stem}" for log in where.glob("*/logs/*.log"))
        there += ["supervisor"] if (where / "supervisor.log").is_file() else []
        known = f"known are: {', '.join(there)}" if there else f"there is no fleet in {where}"
        raise Failure(f'there is no log of "{name}"; {known}', Code.NOT_FOUND)
    return file

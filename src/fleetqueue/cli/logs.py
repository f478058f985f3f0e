"""`fleetqueue logs`: what a process of a fleet said, or a part of embedded clusters, which all share one process."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, TextIO

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure
from fleetqueue.cli.fleets import folder
from fleetqueue.cli.options import DataDir

POLL_SECONDS = 0.2
SUPERVISOR = "supervisor"


def logs(
    name: Annotated[
        str,
        typer.Argument(
            help="The process as `status` names it, such as hub/kueue; or `supervisor`, which starts and ends the "
            "fleet. Of embedded clusters: a cluster, or a part of it by how its pods' names begin.",
            show_default="say which there are",
        ),
    ] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what it says from now on.")] = False,
    tail: Annotated[int, typer.Option(help="Only the last lines; 0 means all.", min=0)] = 0,
    data_dir: DataDir = None,
) -> None:
    """Print what one process of the fleet on this machine said, or one part of embedded clusters.

    \b
    Example:
      fleetqueue logs hub/kueue -f
      fleetqueue logs cluster1/kueue --tail 20
      fleetqueue logs hub/fleetqueue-controller
    """
    file, is_told = source(folder(data_dir), name)
    with file.open(errors="replace") as lines:
        sys.stdout.writelines([line for line in lines if is_told(line)][-tail:])
        if follow:
            sys.stdout.flush()
            for line in filter(is_told, coming(file, lines)):
                print(line, end="", flush=True)


def source(where: Path, name: str) -> tuple[Path, Callable[[str], bool]]:
    """Return where something is logged, and which lines of that are its own; or say which logs there are."""
    from fleetqueue.fleets import embedded_log
    from fleetqueue.lab.state import option

    cluster, _, process = name.partition("/")
    file = where / f"{SUPERVISOR}.log" if name == SUPERVISOR else where / cluster / "logs" / f"{process}.log"
    if file.is_file():
        return file, lambda line: True
    shared = where / embedded_log.FILE
    lines = shared.read_text(errors="replace").splitlines() if shared.is_file() else []
    if name and any(map(embedded_log.LinesOf(name), lines)):
        return shared, embedded_log.LinesOf(name)
    known = [*known_files(where), *embedded_log.speakers(lines)]
    if not known:
        raise CommandFailure(
            f"there is no fleet in {where}; start one with `fleetqueue up{option(where)}`", Code.NOT_FOUND
        )
    if not name:
        raise CommandFailure(f"say whose log, such as {known[-1]}; known are: {near(known, '')}", Code.USAGE)
    raise CommandFailure(f'there is no log of "{name}"; known are: {near(known, cluster)}', Code.NOT_FOUND)


def near(known: list[str], cluster: str) -> str:
    """List what is known of a cluster; without one, or where nothing is, only of which clusters something is."""
    of_it = [name for name in known if name.startswith(f"{cluster}/")]
    return ", ".join(of_it or sorted({re.sub("/.*", "/...", name) for name in known}))


def known_files(where: Path) -> list[str]:
    names = sorted(f"{log.parents[1].name}/{log.stem}" for log in where.glob("*/logs/*.log"))
    return [SUPERVISOR, *names] if (where / f"{SUPERVISOR}.log").is_file() else names


def coming(file: Path, lines: TextIO) -> Iterator[str]:
    """Wait for further lines, without an end; where a file is put aside for a new one, go on with that."""
    while True:
        if line := lines.readline():
            yield line
        elif not os.path.samestat(os.stat(lines.fileno()), file.stat()):
            with file.open(errors="replace") as further:
                yield from coming(file, further)
        else:
            time.sleep(POLL_SECONDS)

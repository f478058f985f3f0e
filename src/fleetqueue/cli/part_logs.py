"""The logs of a fleet on this machine: of its processes, or of parts of embedded clusters, which share one process."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from fleetqueue.cli.exit_codes import Code, CommandFailure

POLL_SECONDS = 0.2
SUPERVISOR = "supervisor"


def print_part(where: Path, name: str, *, follow: bool, tail: int) -> None:
    """Print what one part of a fleet said."""
    file, is_told = source(where, name)
    with file.open(errors="replace") as lines:
        sys.stdout.writelines([line for line in lines if is_told(line)][-tail:])
        if follow:
            sys.stdout.flush()
            for line in filter(is_told, coming(file, lines)):
                print(line, end="", flush=True)


def is_part(where: Path, name: str) -> bool:
    """Tell whether a name is that of a fleet's part, or cluster, or of what starts and ends it, and not of a job.

    With a slash it is a part, unless a kind stands before it: cluster names have no capitals, and no group behind them.
    """
    from fleetqueue.admin.job_names import KNOWN_KINDS, is_kind

    first, slash, _ = name.partition("/")
    if not slash:
        return name in ("", SUPERVISOR, *(one.partition("/")[0] for one in known_parts(where)))
    is_name = first.islower() and "." not in first
    return is_name and not any(is_kind(first, kind) for kind in KNOWN_KINDS)


def known_parts(where: Path) -> list[str]:
    from fleetqueue.fleets import embedded_log

    return [*known_files(where), *embedded_log.speakers(shared_lines(where))]


def shared_lines(where: Path) -> list[str]:
    """Return what all parts of embedded clusters have said."""
    from fleetqueue.fleets import embedded_log

    shared = where / embedded_log.FILE
    return shared.read_text(errors="replace").splitlines() if shared.is_file() else []


def source(where: Path, name: str) -> tuple[Path, Callable[[str], bool]]:
    """Return where something is logged, and which lines of that are its own; or say which logs there are."""
    from fleetqueue.fleets import embedded_log
    from fleetqueue.lab.state import option

    cluster, _, process = name.partition("/")
    file = where / f"{SUPERVISOR}.log" if name == SUPERVISOR else where / cluster / "logs" / f"{process}.log"
    if file.is_file():
        return file, lambda line: True
    if name and any(map(embedded_log.LinesOf(name), shared_lines(where))):
        return where / embedded_log.FILE, embedded_log.LinesOf(name)
    known = known_parts(where)
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

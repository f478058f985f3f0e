"""`fleetqueue list`: the fleets on this machine."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fleetqueue.cli.exit_codes import run
from fleetqueue.cli.options import Output, OutputFormat

COLUMNS = ("name", "engine", "state", "workers", "age", "folder")


def list_fleets(output: Output = OutputFormat.TABLE) -> None:
    """List the fleets on this machine, running or stopped, wherever their folders are.

    STATE is up, starting, stopping, stopped, or broken where its record cannot be read; AGE is the time since its last
    start. Other commands mean the fleet named lab, unless --data-dir gives the folder of another one.

    \b
    Example:
      fleetqueue list
      fleetqueue list -o json
    """
    from fleetqueue import clock
    from fleetqueue.admin.table_text import age, written
    from fleetqueue.lab.folders import known_folders

    rows = [run(looked_at(folder)) for folder in known_folders()]
    if output is OutputFormat.TABLE:
        rows = [{**row, "age": age(row["started"], clock.now())} for row in rows]
    print(written(rows, COLUMNS, output.value, empty="no fleets; start one with `fleetqueue up`"))


async def looked_at(folder: Path) -> dict[str, Any]:
    """Tell of one fleet what it is made of, and how it is."""
    from fleetqueue.lab import control
    from fleetqueue.lab.errors import EngineError
    from fleetqueue.lab.state import Ownership, kept

    answer: Mapping[str, Any] | None = await control.ask_if_there(folder, "status")
    is_without_socket = answer is None and Ownership(folder).is_taken()  # a demo, or a program that holds its own fleet
    state = answer["state"] if answer else "up" if is_without_socket else "stopped"
    try:
        fleet = kept(folder)
    except EngineError:
        fleet, state = None, "broken"
    return {
        "name": folder.name,
        "engine": fleet.engine if fleet else "",
        "state": state,
        "workers": fleet.workers if fleet else None,
        "started": datetime.fromtimestamp((folder / "fleet.json").stat().st_mtime, UTC),
        "folder": str(folder),
    }

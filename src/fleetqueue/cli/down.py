"""`fleetqueue down`: end a fleet."""

from typing import Annotated

import typer

from fleetqueue.cli.fleets import folder
from fleetqueue.cli.options import DataDir
from fleetqueue.cli.progress import Progress
from fleetqueue.cli.running import run


def down(
    data_dir: DataDir = None,
    delete: Annotated[bool, typer.Option("--delete", help="Forget its state as well.")] = False,
) -> None:
    """End the fleet on this machine, wherever it was started; no process of it stays.

    \b
    Example:
      fleetqueue down
      fleetqueue down --delete
    """
    from fleetqueue.lab import control
    from fleetqueue.lab.state import kept, refuse_foreign

    where = folder(data_dir)
    if not where.is_dir():
        print(f"there is no fleet in {where}")
        return
    refuse_foreign(where)
    there = kept(where)
    is_running = run(control.ask_if_there(where, "status")) is not None
    with Progress() as report:
        if is_running:
            report(f"ending the fleet in {where}")
        run(control.down(where, delete=delete))
    if delete:
        print(f"the fleet in {where} is gone")
    else:
        told = f"the fleet in {where} is stopped" if is_running else f"no fleet runs in {where}"
        print(f"{told}; its state is kept" if there and not there.in_memory else told)

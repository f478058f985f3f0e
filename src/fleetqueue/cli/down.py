"""`fleetqueue down`: end a fleet."""

from typing import Annotated

import typer

from fleetqueue.cli.fleets import folder, reporter
from fleetqueue.cli.options import DataDir
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
    from fleetqueue.engine import control
    from fleetqueue.engine.state import kept, refuse_foreign

    where, report = folder(data_dir), reporter()
    if not where.exists():
        print(f"there is no fleet in {where}")
        return
    if delete:
        refuse_foreign(where)
    report(f"ending the fleet in {where}")
    there = kept(where)
    run(control.down(where, delete=delete))
    is_kept = not (there and there.in_memory)
    print(f"the fleet in {where} is {'gone' if delete else 'stopped; its state is kept' if is_kept else 'stopped'}")

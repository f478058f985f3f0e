"""`fleetqueue cut`, `heal`, `pause` and `resume`: try what happens when workers and parts of a lab fail."""

from enum import StrEnum
from typing import Annotated

import typer

from fleetqueue.cli.exit_codes import run
from fleetqueue.cli.fleets import folder
from fleetqueue.cli.options import DataDir

Worker = Annotated[str, typer.Argument(metavar="CLUSTER", help="A worker of the fleet, such as cluster1.")]
ProcessName = Annotated[str, typer.Argument(metavar="NAME", help="The process as `status` names it.")]


class CutHow(StrEnum):
    """How a worker that is cut off meets its clients."""

    REFUSE = "refuse"
    HANG = "hang"


def cut(
    cluster: Worker,
    how: Annotated[
        CutHow, typer.Option(help="Refuse connections, as after a crash, or let them hang, as in a broken network.")
    ] = CutHow.REFUSE,
    data_dir: DataDir = None,
) -> None:
    """Make a worker of the fleet on this machine unreachable; it runs on, and so do its jobs.

    \b
    Example:
      fleetqueue cut cluster1
      fleetqueue get jobs -w
      fleetqueue heal cluster1
    """
    from fleetqueue.lab import control
    from fleetqueue.lab.state import option

    where = folder(data_dir)
    run(control.ask(where, "cut", cluster, how.value))
    print(f"{cluster} is cut off ({how.value}); heal it with `fleetqueue heal {cluster}{option(where)}`")


def heal(cluster: Worker, data_dir: DataDir = None) -> None:
    """Make a worker that was cut off reachable again.

    \b
    Example:
      fleetqueue heal cluster1
    """
    from fleetqueue.lab import control

    run(control.ask(folder(data_dir), "heal", cluster))
    print(f"{cluster} is reachable")


def pause(name: ProcessName, data_dir: DataDir = None) -> None:
    """Freeze a process of the fleet on this machine: its connections stay open, and nothing answers.

    Embedded clusters share one process, and their parts are pods: scale a part's Deployment to 0, or cut its worker.

    \b
    Example:
      fleetqueue pause hub/controller
      fleetqueue resume hub/controller
    """
    from fleetqueue.lab import control
    from fleetqueue.lab.state import option

    where = folder(data_dir)
    run(control.ask(where, "pause", name))
    print(f"{name} is paused; let it go on with `fleetqueue resume {name}{option(where)}`")


def resume(name: ProcessName, data_dir: DataDir = None) -> None:
    """Let a process that was paused go on.

    \b
    Example:
      fleetqueue resume hub/controller
    """
    from fleetqueue.lab import control

    run(control.ask(folder(data_dir), "resume", name))
    print(f"{name} goes on")

"""`fleetqueue restart`: end one process of a fleet and start it again."""

from typing import Annotated

import typer

from fleetqueue.cli.fleets import folder
from fleetqueue.cli.options import DataDir
from fleetqueue.cli.running import run


def restart(
    name: Annotated[str, typer.Argument(help="The process as `status` names it, such as hub/kueue.")],
    data_dir: DataDir = None,
) -> None:
    """Restart one process of the fleet on this machine; Kueue then reads its ConfigMap again.

    Embedded clusters share one process, and their parts are pods: `kubectl rollout restart` restarts one of them.

    \b
    Example:
      fleetqueue restart hub/kueue
      fleetqueue restart hub/controller
    """
    from fleetqueue.lab import control

    run(control.ask(folder(data_dir), "restart", name))
    print(f"{name} is restarted")

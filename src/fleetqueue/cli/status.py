"""`fleetqueue status`: how the processes of a fleet are."""

from fleetqueue.cli.fleets import folder
from fleetqueue.cli.options import DataDir, Format, Output
from fleetqueue.cli.running import Failure, run
from fleetqueue.cli.tables import show


def status(data_dir: DataDir = None, output: Output = Format.TABLE) -> None:
    """Show every process of the fleet on this machine; exit code 1 if one is down, 3 if no fleet runs.

    \b
    Example:
      fleetqueue status
      fleetqueue status -o json
    """
    from dataclasses import asdict

    from fleetqueue.lab import control

    found = run(control.status(folder(data_dir)))
    show([asdict(process) for process in found], ("name", "state", "pid", "port"), output)
    if down := [process.name for process in found if process.state.startswith("down")]:
        raise Failure(f"{', '.join(down)} ended; see `fleetqueue logs {down[0]}`")
